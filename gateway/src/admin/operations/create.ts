/** POST to a list. */
import { references } from "@sluice/model";
import type { Call, Step } from "../call.ts";
import { parentOf } from "../place.ts";
import { resolveReferences } from "../references.ts";
import { changedNow, check, identify } from "./check.ts";
import type { Operations } from "./index.ts";
import { written } from "./written.ts";

export async function create(operations: Operations, call: Call): Promise<Step> {
  const { collection } = call.endpoint;
  const parent = await parentOf(call);
  const raw = operations.prepare(call.body(), { before: null, keeps: false });
  const owned = { ...raw, ...(parent && { [parent.member]: { id: parent.id } }), ...changedNow(collection) };
  const given = await resolveReferences(owned, references[collection], call.store);
  const entity = await identify(call, given, check(call, given));
  return {
    writes: [{ op: "create", collection, entity }],
    answer: ([effect]) => written(operations, call, { entity: effect?.after ?? entity, status: 201 }),
    attempt: { verb: "create", collection, by: undefined },
    again: async (fault) => fault.kind === "primary-key" && (given.id ?? null) === null,
  };
}
