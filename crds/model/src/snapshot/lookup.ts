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
  readonly holders: Pick<ReadonlyMap<string, readonly Held[]>, "get">;
  /** How many refer to an entity (`referenceKey`). */
  readonly referrers: Pick<ReadonlyMap<string, number>, "get">;
}

/** Gives the lookup of a collection as it was before a change. */
export type Lookups = (collection: Collection) => Lookup;

interface KeptLookup {
  readonly holders: BucketMap<readonly Held[]>;
  readonly referrers: BucketMap<number>;
}

export const claimKey = (index: number, value: string): string => `${index} ${value}`;

export const referenceKey = (member: string, id: string): string => `${member} ${id}`;

const empty: KeptLookup = { holders: new BucketMap(byHash), referrers: new BucketMap(byHash) };

/** By the collection's map, which never changes. */
const known = new WeakMap<ReadonlyMap<string, Held>, KeptLookup>();

export function lookupOf(collection: Collection, map: ReadonlyMap<string, Held>): KeptLookup {
  const before = known.get(map);
  if (before) return before;
  const made = advanced(collection, empty, { before: new Map(), after: map });
  known.set(map, made);
  return made;
}

/** A lookup for the claims of these entities and for references to these ids, by one pass over the map. Keeps nothing. */
export function scanLookup(
  collection: Collection,
  map: ReadonlyMap<string, Held>,
  wanted: { readonly claimants: readonly Held[]; readonly ids: ReadonlySet<string> },
): Lookup {
  const holders = new Map<string, Held[]>();
  const referrers = new Map<string, number>();
  for (const [index, { claimed }] of claims[collection].entries()) {
    const byValue = new Map<string, Held[]>();
    for (const entity of wanted.claimants) {
      const value = claimed(entity);
      if (value !== undefined) byValue.set(value, []);
    }
    for (const entity of byValue.size === 0 ? [] : map.values()) {
      const value = claimed(entity);
      if (value !== undefined) byValue.get(value)?.push(entity);
    }
    for (const [value, held] of byValue) holders.set(claimKey(index, value), held);
  }
  for (const { member } of wanted.ids.size === 0 ? [] : references[collection]) {
    for (const entity of map.values()) {
      const id = referred(entity, member);
      if (id === undefined || !wanted.ids.has(id)) continue;
      const key = referenceKey(member, id);
      referrers.set(key, (referrers.get(key) ?? 0) + 1);
    }
  }
  return { holders, referrers };
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

function advanced(collection: Collection, { holders, referrers }: KeptLookup, { before, after }: Step): KeptLookup {
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
