/** Entities for the suites of stores. */
import { randomUUID } from "node:crypto";
import { type Collection, checkEntity, type Entities, type Entity } from "@sluice/model";
import { makeAuthority } from "../../../tools/programs/certificates.ts";

/** The entity with defaults; `raw` must be valid. */
export function entity<Name extends Collection>(collection: Name, raw: object): Entities[Name] {
  const checked = checkEntity(collection, raw, { now: Math.floor(Date.now() / 1000) });
  if (checked.violations) throw new Error(JSON.stringify(checked.violations));
  return checked.value;
}

/** An entity without timestamps: `updated_at` may also change when another entity in the same resource is written. */
export function withoutTimestamps<Any extends Entity>(one: Any | null | undefined): object {
  const {
    created_at: _created,
    updated_at: _updated,
    ...rest
  } = { updated_at: 0, ...one } as Entity & {
    updated_at: number;
  };
  return rest;
}

const uniqueId = () => ({ id: randomUUID() });
const to = ({ id }: { readonly id: string }) => ({ id });
type Parent = { readonly id: string };

export const serviceEntity = (name: string, raw: object = {}) =>
  entity("services", { name, host: "users.example", ...raw });
export const routeEntity = (raw: object) => entity("routes", { ...uniqueId(), paths: ["/"], ...raw });
export const pluginEntity = (name: string, raw: object = {}) => entity("plugins", { ...uniqueId(), name, ...raw });
export const consumerEntity = (username: string, raw: object = {}) => entity("consumers", { username, ...raw });
export const credentialEntity = (owner: Parent, key: string, raw: object = {}) =>
  entity("keyauth_credentials", { ...uniqueId(), consumer: to(owner), key, ...raw });
export const upstreamEntity = (name: string, raw: object = {}) => entity("upstreams", { ...uniqueId(), name, ...raw });
export const targetEntity = (of: Parent, address: string, raw: object = {}) =>
  entity("targets", { ...uniqueId(), upstream: to(of), target: address, ...raw });
export const sniEntity = (of: Parent, name: string, raw: object = {}) =>
  entity("snis", { ...uniqueId(), certificate: to(of), name, ...raw });

export const caCertificateEntity = (cert: string, raw: object = {}) => entity("ca_certificates", { cert, ...raw });

/** Two pairs of certificate and key are enough for all tests. */
const pairs = (async () => {
  const authority = await makeAuthority();
  return Promise.all(
    ["one.example", "two.example"].map(async (name) => {
      const { certificate: cert, key } = await authority.issue({ name, sans: [name], usage: "server" });
      return { cert, key };
    }),
  );
})();

export async function certificateEntity(pair: 0 | 1 = 0, raw: object = {}): Promise<Entities["certificates"]> {
  return entity("certificates", { ...uniqueId(), ...(await pairs)[pair], ...raw });
}
