/** What no two entities of a collection may share. */
import { type Collection, canonical, collections, type Entity, entities } from "@sluice/model";
import { remember } from "./remember.ts";

/** Members with their values: `{ name: "users" }`. */
export type Claim = Readonly<Record<string, unknown>>;

/** Unset members claim nothing, except where several are unique together. */
export function claimsOf(collection: Collection, entity: Entity): readonly Claim[] {
  const members = entity as unknown as Claim;
  const { unique, uniqueTogether } = entities[collection];
  return [
    ...unique.filter((member) => typeof members[member] === "string").map((member) => ({ [member]: members[member] })),
    ...(uniqueTogether ? [Object.fromEntries(uniqueTogether.map((member) => [member, members[member]]))] : []),
  ];
}

export const claimKey = (collection: Collection, claim: Claim): string => `${collection} ${canonical(claim)}`;

/** The keys of an entity's claims, worked out once for each entity. */
export function rememberClaims(): (collection: Collection, entity: Entity) => readonly string[] {
  const keysOf = new Map(
    collections.map((collection) => [
      collection,
      remember((entity: Entity) => claimsOf(collection, entity).map((claim) => claimKey(collection, claim))),
    ]),
  );
  return (collection, entity) => keysOf.get(collection)?.(entity) ?? [];
}
