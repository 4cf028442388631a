/**
 * Who claims what and who refers to whom in one collection, kept beside the collection's map and carried on from change
 * to change: a change is checked against thousands of entities by looking at few.
 */
import type { Collection } from "../entities/index.ts";
import { references } from "../entities/references.ts";
import { BucketMap, byHash, differences } from "./bucket-map.ts";
import { claims } from "./claims.ts";
import { type Held, referred } from "./held.ts";

export interface Lookup {
  /** Entities by what they claim (`claimKey`). */
  readonly holders: BucketMap<readonly Held[]>;
  /** How many refer to an entity (`referenceKey`). */
  readonly referrers: BucketMap<number>;
}

export const claimKey = (index: number, value: string): string => `${index} ${value}`;

export const referenceKey = (member: string, id: string): string => `${member} ${id}`;

const empty: Lookup = { holders: new BucketMap(byHash), referrers: new BucketMap(byHash) };

/** By the collection's map, which never changes. */
const known = new WeakMap<ReadonlyMap<string, Held>, Lookup>();

export function lookupOf(collection: Collection, map: ReadonlyMap<string, Held>): Lookup {
  const before = known.get(map);
  if (before) return before;
  const made = advanced(collection, empty, { before: new Map(), after: map });
  known.set(map, made);
  return made;
}

/** One map follows from the other: so does what is known of it. */
export function carryOn(collection: Collection, before: ReadonlyMap<string, Held>, after: ReadonlyMap<string, Held>) {
  if (before === after || known.has(after)) return;
  known.set(after, advanced(collection, lookupOf(collection, before), { before, after }));
}

interface Step {
  readonly before: ReadonlyMap<string, Held>;
  readonly after: ReadonlyMap<string, Held>;
}

function advanced(collection: Collection, { holders, referrers }: Lookup, { before, after }: Step): Lookup {
  const held = new Map<string, readonly Held[] | undefined>();
  const counts = new Map<string, number | undefined>();
  const holdersOf = (key: string) => (held.has(key) ? held.get(key) : holders.get(key)) ?? [];

  function count(entity: Held, step: 1 | -1): void {
    for (const { member } of references[collection]) {
      const id = referred(entity, member);
      if (id === undefined) continue;
      const key = referenceKey(member, id);
      const number = ((counts.has(key) ? counts.get(key) : referrers.get(key)) ?? 0) + step;
      counts.set(key, number === 0 ? undefined : number);
    }
  }

  for (const { before: old, after: now } of differences(before, after)) {
    for (const [index, { claimed }] of claims[collection].entries()) {
      const left = old && claimed(old);
      const taken = now && claimed(now);
      if (old && left !== undefined) {
        const key = claimKey(index, left);
        const others = holdersOf(key).filter((one) => one !== old);
        held.set(key, others.length === 0 ? undefined : others);
      }
      if (now && taken !== undefined) {
        const key = claimKey(index, taken);
        held.set(key, [...holdersOf(key), now]);
      }
    }
    if (old) count(old, -1);
    if (now) count(now, 1);
  }
  return { holders: holders.with(held), referrers: referrers.with(counts) };
}
