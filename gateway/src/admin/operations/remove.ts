/** DELETE: what is not there is gone at the top, and not found below a parent (kong-contract 1.1). */
import { etagOf } from "../../stores/etag.ts";
import type { Call, Step } from "../call.ts";
import { demand } from "../conditions.ts";
import { methodNotAllowed, notFound } from "../errors.ts";
import { lookupOf, placeOf } from "../place.ts";
import type { Operations } from "./index.ts";
import { memberOf, tagOf } from "./upsert.ts";

export async function remove(operations: Operations, call: Call): Promise<Step> {
  const { endpoint, conditions, store, params } = call;
  const { collection } = endpoint;
  const isConditional = conditions.match !== undefined || conditions.noneMatch !== undefined;
  // Looked for only when it matters: what is too faulty to be found can be removed all the same.
  if (endpoint.kind === "one" && !endpoint.parent && !isConditional) {
    const by = await lookupOf(store, collection, params.entity ?? "");
    return removal({ op: "remove", collection, by }, memberOf(by));
  }
  const { entity, foreign, by } = await placeOf(call);
  if (endpoint.kind === "foreign") throw entity ? methodNotAllowed() : notFound();
  if (endpoint.parent && (!entity || foreign)) throw notFound();
  await demand(conditions, () => entity && tagOf(operations, call, entity));
  const etag = isConditional && entity ? { etag: etagOf(entity) } : {};
  return removal({ op: "remove", collection, by: entity ? { id: entity.id } : by, ...etag }, memberOf(by));
}

const removal = (write: Extract<Step["writes"][number], { op: "remove" }>, by: string | undefined): Step => ({
  writes: [write],
  answer: async () => ({ status: 204 }),
  attempt: { verb: "remove", collection: write.collection, by },
  again: async ({ kind }) => kind === "changed",
});
