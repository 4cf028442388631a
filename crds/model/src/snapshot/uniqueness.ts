/** Values that no two entities of a collection may share. */
import { type Collection, collections } from "../entities/index.ts";
import type { PerCollection } from "../entities/per-collection.ts";
import type { Violation } from "../violation.ts";
import { type Claim, claims } from "./claims.ts";
import type { Held, Put } from "./held.ts";
import { claimKey, type Lookups } from "./lookup.ts";

interface Step {
  readonly lookups: Lookups;
  readonly puts: PerCollection<readonly Put[]>;
  /** Ids that were there and will not be. */
  readonly gone: PerCollection<ReadonlyMap<string, unknown>>;
}

/** Put entities that claim what another one has, before or in the same change. */
export function findClashes({ lookups, puts, gone }: Step): readonly Violation[] {
  return collections.flatMap((collection) => {
    const put = puts[collection];
    if (put.length === 0) return [];
    const ids = new Set(put.map(({ entity }) => entity.id));
    const { holders } = lookups(collection);
    return claims[collection].flatMap((claim, index) => {
      const staysWith = (value: string) =>
        (holders.get(claimKey(index, value)) ?? []).filter(({ id }) => !ids.has(id) && !gone[collection].has(id));
      return clashesOf(claim, put, staysWith).map(({ path, entity }) => ({
        path,
        message: clash(collection, claim.say(entity)),
      }));
    });
  });
}

/** The sentence for two items of one id: by what made the ids equal, if that is something that was written. */
export function sameIdentity(collection: Collection, one: Held, other: Held): string {
  const claim = claims[collection].find(({ claimed }) => (claimed(one) ?? one) === claimed(other));
  return clash(collection, claim?.say(one) ?? `primary key set to '${one.id}'`);
}

const clash = (collection: Collection, what: string): string =>
  `uniqueness violation: '${collection}' entity with ${what} already declared`;

function clashesOf(claim: Claim, puts: readonly Put[], staysWith: (value: string) => readonly Held[]): readonly Put[] {
  const holders = new Map<string, Held[]>();
  return puts.filter(({ entity }) => {
    const value = claim.claimed(entity);
    if (value === undefined) return false;
    const others = holders.get(value) ?? [...staysWith(value)];
    const taken = others.some((other) => claim.overlap?.(entity, other) ?? true);
    others.push(entity);
    holders.set(value, others);
    return taken;
  });
}
