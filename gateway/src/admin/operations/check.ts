/** From what a body says to a filled entity. */
import { randomUUID } from "node:crypto";
import { type Collection, checkEntity, type Entity, entities, schemaNode } from "@sluice/model";
import type { Raw } from "../body.ts";
import type { Call } from "../call.ts";
import { invalidEntity } from "../errors.ts";

/** Seconds; targets have milliseconds as fractions, as in Kong. */
export const timeFor = (collection: Collection): number =>
  collection === "targets" ? Date.now() / 1000 : Math.floor(Date.now() / 1000);

/** When an entity is changed, for the kinds that tell it: credentials do not. */
export const changedNow = (collection: Collection): { readonly updated_at?: number } =>
  "updated_at" in (schemaNode(entities[collection].schema).properties ?? {}) ? { updated_at: timeFor(collection) } : {};

/** @throws HttpError 400 with all faults. */
export function check(call: Call, raw: Raw): Entity {
  const { collection } = call.endpoint;
  const { database = false } = call.store;
  const { value, violations = [] } = checkEntity(collection, raw, { now: timeFor(collection), database });
  const faults = [...call.faults, ...violations];
  if (!value || faults.length > 0) throw invalidEntity(faults);
  return value;
}

/**
 * The entity under an id that nothing else has, unless it was given one: an id that follows from a name may be taken
 * by an entity that has been renamed, or by a twin without a name.
 */
export async function identify({ store, endpoint, taken }: Call, given: Raw, entity: Entity): Promise<Entity> {
  if ((given.id ?? null) !== null) return entity;
  const { id } = entity;
  const isTaken = taken.has(id) || (await store.find(endpoint.collection, { id })) !== null;
  return isTaken ? { ...entity, id: randomUUID() } : entity;
}
