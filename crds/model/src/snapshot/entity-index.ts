/**
 * An index of the unique values and the references in one collection. It is cached for the collection's map and updated
 * with each change, so that a change to a few entities is checked without a scan of thousands.
 */
import type { Collection } from "../entities/index.ts";
import { references } from "../entities/index.ts";
import { BucketMap, bucketDifferences, type Difference, hashOfText } from "./bucket-map.ts";
import { uniqueClaims } from "./constraints/unique-claims.ts";
import type { SnapshotMaps } from "./make-snapshot.ts";
import { referencedId, type StoredEntity } from "./stored-entity.ts";

export interface EntityIndex {
  /** Entities by their unique values (`claimIndexKey`). */
  readonly holders: Pick<ReadonlyMap<string, readonly StoredEntity[]>, "get">;
  /** Number of references to an entity (`referenceIndexKey`). */
  readonly referrers: Pick<ReadonlyMap<string, number>, "get">;
}

/** Returns the index of a collection as it was before a change. */
export type GetEntityIndex = (collection: Collection) => EntityIndex;

interface StoredIndex {
  readonly holders: BucketMap<readonly StoredEntity[]>;
  readonly referrers: BucketMap<number>;
}

export const claimIndexKey = (index: number, value: string): string => `${index} ${value}`;

export const referenceIndexKey = (member: string, id: string): string => `${member} ${id}`;

const empty: StoredIndex = { holders: new BucketMap(hashOfText), referrers: new BucketMap(hashOfText) };

/** The index of each collection, by the collection's map, which is immutable. */
const known = new WeakMap<ReadonlyMap<string, object>, StoredIndex>();

export function entityIndexOf(collection: Collection, map: ReadonlyMap<string, StoredEntity>): StoredIndex {
  const before = known.get(map);
  if (before) return before;
  const made = updateIndex(collection, empty, bucketDifferences(new Map(), map));
  known.set(map, made);
  return made;
}

/** An index of only the unique values of `claimants` and the references to `ids`. Scans the map, caches nothing. */
export function scanEntities(
  collection: Collection,
  map: ReadonlyMap<string, StoredEntity>,
  wanted: { readonly claimants: readonly StoredEntity[]; readonly ids: ReadonlySet<string> },
): EntityIndex {
  const holders = new Map<string, StoredEntity[]>();
  const referrers = new Map<string, number>();
  for (const [index, { claimed }] of uniqueClaims[collection].entries()) {
    const byValue = new Map<string, StoredEntity[]>();
    for (const entity of wanted.claimants) {
      const value = claimed(entity);
      if (value !== undefined) byValue.set(value, []);
    }
    for (const entity of byValue.size === 0 ? [] : map.values()) {
      const value = claimed(entity);
      if (value !== undefined) byValue.get(value)?.push(entity);
    }
    for (const [value, held] of byValue) holders.set(claimIndexKey(index, value), held);
  }
  for (const { member } of wanted.ids.size === 0 ? [] : references[collection]) {
    for (const entity of map.values()) {
      const id = referencedId(entity, member);
      if (id === undefined || !wanted.ids.has(id)) continue;
      const key = referenceIndexKey(member, id);
      referrers.set(key, (referrers.get(key) ?? 0) + 1);
    }
  }
  return { holders, referrers };
}

interface IndexStep {
  readonly before: SnapshotMaps;
  readonly after: SnapshotMaps;
  readonly differences: readonly Difference<object>[];
}

/** Derives the index of the map after a change from the index of the map before the change, and caches it. */
export function deriveEntityIndex(collection: Collection, { before, after, differences }: IndexStep) {
  if (known.has(after[collection])) return;
  const index = entityIndexOf(collection, before[collection]);
  known.set(after[collection], updateIndex(collection, index, differences as readonly Difference<StoredEntity>[]));
}

function updateIndex(
  collection: Collection,
  { holders, referrers }: StoredIndex,
  changes: readonly Difference<StoredEntity>[],
): StoredIndex {
  const held = new Map<string, readonly StoredEntity[] | undefined>();
  const counts = new Map<string, number | undefined>();
  const holdersOf = (key: string) => (held.has(key) ? held.get(key) : holders.get(key)) ?? [];

  function count(entity: StoredEntity, step: 1 | -1): void {
    for (const { member } of references[collection]) {
      const id = referencedId(entity, member);
      if (id === undefined) continue;
      const key = referenceIndexKey(member, id);
      const number = ((counts.has(key) ? counts.get(key) : referrers.get(key)) ?? 0) + step;
      counts.set(key, number === 0 ? undefined : number);
    }
  }

  for (const { before: old, after: now } of changes) {
    for (const [index, { claimed }] of uniqueClaims[collection].entries()) {
      const left = old && claimed(old);
      const taken = now && claimed(now);
      if (old && left !== undefined) {
        const key = claimIndexKey(index, left);
        const others = holdersOf(key).filter((one) => one !== old);
        held.set(key, others.length === 0 ? undefined : others);
      }
      if (now && taken !== undefined) {
        const key = claimIndexKey(index, taken);
        held.set(key, [...holdersOf(key), now]);
      }
    }
    if (old) count(old, -1);
    if (now) count(now, 1);
  }
  return { holders: holders.with(held), referrers: referrers.with(counts) };
}
