/** PUT: creates the entity or replaces it; members that the body leaves out get their defaults. */
import { type Entity, references } from "@sluice/model";
import { etagOf } from "../../../stores/etag.ts";
import type { Lookup, Write } from "../../../stores/store.ts";
import { requirePreconditions } from "../../http/preconditions.ts";
import type { EntityRequest, PreparedWrite } from "../../requests.ts";
import { resolveReferences } from "../resolve-references.ts";
import { resolveUrl, type UrlTarget } from "../resolve-url.ts";
import { checkedEntity, updatedAtNow, withFreeId } from "./check.ts";
import type { EntityOperations } from "./entity-operations.ts";
import { presentWritten } from "./written.ts";

/** As in Kong, an entity of another parent is moved to the parent in the URL. */
export async function upsertEntity(operations: EntityOperations, call: EntityRequest): Promise<PreparedWrite> {
  const { store, preconditions: conditions } = call;
  const { collection } = call.endpoint;
  const place = await resolveUrl(call);
  const before = place.entity;
  await requirePreconditions(conditions, () => before && tagOf(operations, call, before));
  const raw = operations.prepare(call.body(), { before, isPartial: false });
  const says = { ...raw, ...place.members, ...updatedAtNow(collection) };
  const named = before ? { ...says, id: before.id, created_at: raw.created_at ?? before.created_at } : says;
  const given = await resolveReferences(named, references[collection], store);
  const checked = checkedEntity(call, given);
  const entity = before ? checked : await withFreeId(call, given, checked);
  const write: Write = before
    ? { op: "replace", collection, entity, etag: etagOf(before) }
    : { op: "create", collection, entity };
  return {
    writes: [write, ...association(place, entity)],
    respond: ([effect]) => presentWritten(operations, call, { entity: effect?.after ?? entity, status: 200 }),
    attempt: { verb: "create or update", collection, by: memberOf(place.by) },
    async isRetryable({ kind }) {
      if (kind === "changed") return true;
      if (before || (kind !== "primary-key" && kind !== "unique")) return false;
      // Another client created it in the meantime, or the id derived from the name is in use.
      return (
        (await store.find(collection, place.by)) !== null || (kind === "primary-key" && (given.id ?? null) === null)
      );
    },
  };
}

/** Makes the holder of the reference refer to the entity. */
function association({ holder }: UrlTarget, { id }: Entity): readonly Write[] {
  if (!holder) return [];
  const { collection, member, entity } = holder;
  const changed = { ...entity, [member]: { id }, ...updatedAtNow(collection) } as Entity;
  return [{ op: "replace", collection, entity: changed, etag: etagOf(entity) }];
}

export async function tagOf(operations: EntityOperations, { store }: EntityRequest, entity: Entity): Promise<string> {
  return operations.tag(entity, await operations.present(entity, store));
}

export const memberOf = (by: Lookup): string | undefined => ("id" in by ? undefined : by.member);
