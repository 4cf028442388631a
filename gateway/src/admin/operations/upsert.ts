/** PUT: the entity takes the form that the body says, whether or not there was one (kong-contract 1.1). */
import { type Entity, references } from "@sluice/model";
import { etagOf } from "../../stores/etag.ts";
import type { Lookup, Write } from "../../stores/store.ts";
import type { Call, Step } from "../call.ts";
import { demand } from "../conditions.ts";
import { type Place, placeOf } from "../place.ts";
import { resolveReferences } from "../references.ts";
import { changedNow, check, identify } from "./check.ts";
import type { Operations } from "./index.ts";
import { written } from "./written.ts";

/** As in Kong, an entity of another parent becomes one of the parent that the URL names. */
export async function upsert(operations: Operations, call: Call): Promise<Step> {
  const { store, conditions } = call;
  const { collection } = call.endpoint;
  const place = await placeOf(call);
  const before = place.entity;
  await demand(conditions, () => before && tagOf(operations, call, before));
  const raw = operations.prepare(call.body(), { before, keeps: false });
  const says = { ...raw, ...place.says, ...changedNow(collection) };
  const named = before ? { ...says, id: before.id, created_at: raw.created_at ?? before.created_at } : says;
  const given = await resolveReferences(named, references[collection], store);
  const checked = check(call, given);
  const entity = before ? checked : await identify(call, given, checked);
  const write: Write = before
    ? { op: "replace", collection, entity, etag: etagOf(before) }
    : { op: "create", collection, entity };
  return {
    writes: [write, ...association(place, entity)],
    answer: ([effect]) => written(operations, call, { entity: effect?.after ?? entity, status: 200 }),
    attempt: { verb: "create or update", collection, by: memberOf(place.by) },
    async again({ kind }) {
      if (kind === "changed") return true;
      if (before || (kind !== "primary-key" && kind !== "unique")) return false;
      // Somebody else made it in the meantime, or the id that follows from the name is another one's.
      return (
        (await store.find(collection, place.by)) !== null || (kind === "primary-key" && (given.id ?? null) === null)
      );
    },
  };
}

/** Who holds the reference now refers to the entity. */
function association({ holder }: Place, { id }: Entity): readonly Write[] {
  if (!holder) return [];
  const { collection, member, entity } = holder;
  const changed = { ...entity, [member]: { id }, ...changedNow(collection) } as Entity;
  return [{ op: "replace", collection, entity: changed, etag: etagOf(entity) }];
}

export async function tagOf(operations: Operations, { store }: Call, entity: Entity): Promise<string> {
  return operations.tag(entity, await operations.present(entity, store));
}

export const memberOf = (by: Lookup): string | undefined => ("id" in by ? undefined : by.member);
