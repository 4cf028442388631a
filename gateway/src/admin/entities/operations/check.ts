/** Builds a complete, checked entity from a request body. */
import { randomUUID } from "node:crypto";
import { type Collection, checkEntity, type Entity, entities } from "@sluice/model";
import type { RawMembers } from "../../http/decode-body.ts";
import { invalidEntity } from "../../http/errors.ts";
import type { EntityRequest } from "../../requests.ts";

/** Seconds; for targets with milliseconds as fraction, as in Kong. */
export const timestampFor = (collection: Collection): number =>
  collection === "targets" ? Date.now() / 1000 : Math.floor(Date.now() / 1000);

/** The change time, for collections that have one: credentials do not. */
export const updatedAtNow = (collection: Collection): { readonly updated_at?: number } =>
  "updated_at" in (entities[collection].schema.properties ?? {}) ? { updated_at: timestampFor(collection) } : {};

/** @throws HttpError 400 with all violations. */
export function checkedEntity(call: EntityRequest, raw: RawMembers): Entity {
  const { collection } = call.endpoint;
  const { database = false } = call.store;
  const { value, violations = [] } = checkEntity(collection, raw, { now: timestampFor(collection), database });
  const faults = [...call.extraViolations, ...violations];
  if (!value || faults.length > 0) throw invalidEntity(faults);
  return value;
}

/**
 * Gives the entity an unused id, unless the request has one: an id derived from the name may belong to a renamed
 * entity, or to an equal one without a name.
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
