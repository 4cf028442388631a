/** Values that must be unique within a collection. */
import { type Collection, canonicalJson, type Entity, entities, entityNameOf } from "@sluice/model";
import type { Lookup } from "../store.ts";

/** Members with their values: `{ name: "users" }`. */
export type Claim = Readonly<Record<string, unknown>>;

/** The claims of an entity. Unset members claim nothing, unless several members are unique together. */
export function claimsOf(collection: Collection, entity: Entity): readonly Claim[] {
  const members = entity as unknown as Claim;
  const { unique, uniqueTogether } = entities[collection];
  return [
    ...unique.filter((member) => typeof members[member] === "string").map((member) => ({ [member]: members[member] })),
    ...(uniqueTogether ? [Object.fromEntries(uniqueTogether.map((member) => [member, members[member]]))] : []),
  ];
}

export const claimKey = (collection: Collection, claim: Claim): string => `${collection} ${canonicalJson(claim)}`;

export function claimOf(by: Lookup): Claim {
  if ("id" in by) return { id: by.id };
  const { member, value, within } = by;
  return { ...(within && { [within.member]: { id: within.id } }), [member]: value };
}

const known = new WeakMap<Entity, readonly string[]>();

/** The keys of an entity's claims, computed once per entity object: the object must not change. */
export function entityClaimKeys(collection: Collection, entity: Entity): readonly string[] {
  const before = known.get(entity);
  if (before) return before;
  const keys = claimsOf(collection, entity).map((claim) => claimKey(collection, claim));
  known.set(entity, keys);
  return keys;
}

/** The keys of an invalid entity's claims: only its id and its name, the name within the parent if there is one. */
export function faultyClaimKeys(collection: Collection, entity: Entity): readonly string[] {
  const { key, within } = entities[collection];
  const name = entityNameOf(collection, entity);
  const parent = within === undefined ? {} : { [within]: Reflect.get(entity, within) };
  const claims = [{ id: entity.id }, ...(key !== null && name !== undefined ? [{ ...parent, [key]: name }] : [])];
  return claims.map((claim) => claimKey(collection, claim));
}
