/** PATCH: what the body leaves out stays as it is, null unsets (kong-contract 1.3). */
import { mergeEntity, references } from "@sluice/model";
import { etagOf } from "../../stores/etag.ts";
import type { Call, Step } from "../call.ts";
import { demand } from "../conditions.ts";
import { notFound } from "../errors.ts";
import { placeOf } from "../place.ts";
import { resolveReferences } from "../references.ts";
import { changedNow, check } from "./check.ts";
import type { Operations } from "./index.ts";
import { memberOf, tagOf } from "./upsert.ts";
import { written } from "./written.ts";

export async function change(operations: Operations, call: Call): Promise<Step> {
  const { collection } = call.endpoint;
  const place = await placeOf(call);
  const before = place.entity;
  if (!before || place.foreign) throw notFound();
  await demand(call.conditions, () => tagOf(operations, call, before));
  const plugin = collection === "plugins" && "name" in before ? (before.name ?? undefined) : undefined;
  const raw = operations.prepare(call.body(plugin === undefined ? {} : { plugin }), { before, keeps: true });
  const named = await resolveReferences(raw, references[collection], call.store);
  const merged = { ...mergeEntity(collection, before, named), id: before.id, ...changedNow(collection) };
  const entity = check(call, merged);
  return {
    writes: [{ op: "replace", collection, entity, etag: etagOf(before) }],
    answer: ([effect]) => written(operations, call, { entity: effect?.after ?? entity, status: 200 }),
    attempt: { verb: "update", collection, by: memberOf(place.by) },
    again: async ({ kind }) => kind === "changed",
  };
}
