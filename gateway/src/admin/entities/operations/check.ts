/** From what a body says to a filled entity. */
import { randomUUID } from "node:crypto";
import { type Collection, checkEntity, type Entity, entities, schemaNode } from "@sluice/model";
import type { RawMembers } from "../../http/decode-body.ts";
import { invalidEntity } from "../../http/errors.ts";
import type { EntityRequest } from "../../requests.ts";

/** Seconds; targets have milliseconds as fractions, as in Kong. */
export const timestampFor = (collection: Collection): number =>
  collection === "targets" ? Date.now() / 1000 : Math.floor(Date.now() / 1000);

/** When an entity is changed, for the kinds that tell it: credentials do not. */
export const updatedAtNow = (collection: Collection): { readonly updated_at?: number } =>
  "updated_at" in (schemaNode(entities[collection].schema).properties ?? {})
    ? { updated_at: timestampFor(collection) }
    : {};

/** @throws HttpError 400 with all faults. */
export function checkedEntity(call: EntityRequest, raw: RawMembers): Entity {
  const { collection } = call.endpoint;
  const { database = false } = call.store;
  const { value, violations = [] } = checkEntity(collection, raw, { now: timestampFor(collection), database });
  const faults = [...call.extraViolations, ...violations];
  if (!value || faults.length > 0) throw invalidEntity(faults);
  return value;
}

/**
 * The entity under an id that nothing else has, unless it was given one: an id that follows from a name may be taken
 * by an entity that has been renamed, or by a twin without a name.
 */
export async function withFreeId(
  { store, endpoint, takenIds: taken }: EntityRequest,
  given: RawMembers,
  entity: Entity,
): Promise<Entity> {
  if ((given.id ?? null) !== null) return entity;
  const { id } = entity;
  const isTaken = taken.has(id) || (await store.find(endpoint.collection, { id })) !== null;
  return isTaken ? { ...entity, id: randomUUID() } : entity;
}
