/** POST to a list. */
import { references } from "@sluice/model";
import type { EntityRequest, PreparedWrite } from "../../requests.ts";
import { resolveReferences } from "../resolve-references.ts";
import { resolveParent } from "../resolve-url.ts";
import { checkedEntity, updatedAtNow, withFreeId } from "./check.ts";
import type { EntityOperations } from "./entity-operations.ts";
import { presentWritten } from "./written.ts";

export async function createEntity(operations: EntityOperations, call: EntityRequest): Promise<PreparedWrite> {
  const { collection } = call.endpoint;
  const parent = await resolveParent(call);
  const raw = operations.prepare(call.body(), { before: null, isPartial: false });
  const owned = { ...raw, ...(parent && { [parent.member]: { id: parent.id } }), ...updatedAtNow(collection) };
  const given = await resolveReferences(owned, references[collection], call.store);
  const entity = await withFreeId(call, given, checkedEntity(call, given));
  return {
    writes: [{ op: "create", collection, entity }],
    respond: ([effect]) => presentWritten(operations, call, { entity: effect?.after ?? entity, status: 201 }),
    attempt: { verb: "create", collection, by: undefined },
    isRetryable: async (fault) => fault.kind === "primary-key" && (given.id ?? null) === null,
  };
}
