/** As in Kong, expired CA certificates are refused, and CA certificates in use are not removed. */
import { type Collection, expiredMessage } from "@sluice/model";
import { recordViolation } from "@sluice/plugin-sdk";
import { readPages } from "../../stores/read-all.ts";
import { invalidEntity, referencedByOthers } from "../http/errors.ts";
import type { EntityOperations, EntityReader } from "../requests.ts";

export const caCertificates = (derived: EntityOperations): Partial<EntityOperations> => ({
  prepare(raw) {
    const expired = typeof raw.cert === "string" ? expiredMessage(raw.cert, new Date()) : undefined;
    if (expired !== undefined) throw invalidEntity([recordViolation(expired)]);
    return raw;
  },

  async remove(call) {
    const id = (call.params.entity ?? "").toLowerCase();
    const user = await findUser(call.store, id);
    if (user !== undefined) throw referencedByOthers(`ca certificate ${id} is still referenced by ${user}`);
    return derived.remove(call);
  },
});

/** The collection and id of the first service or plugin that uses the CA certificate; undefined: it is not used. */
async function findUser(store: EntityReader, id: string): Promise<string | undefined> {
  const isUsedBy = (list: unknown): boolean => Array.isArray(list) && list.includes(id);
  const named = (collection: Collection, user: { readonly id: string } | undefined) =>
    user && `${collection} (id = ${user.id})`;
  for await (const page of readPages(store, "services")) {
    const user = named(
      "services",
      page.find((service) => isUsedBy(service.ca_certificates)),
    );
    if (user !== undefined) return user;
  }
  for await (const page of readPages(store, "plugins")) {
    const user = named(
      "plugins",
      page.find(({ config }) => isUsedBy(config.ca_certificates)),
    );
    if (user !== undefined) return user;
  }
  return undefined;
}
