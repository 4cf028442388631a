/** Taking over an edit that another process has read and checked, in a node that keeps few things beside its snapshot. */
import { isDeepStrictEqual } from "node:util";
import { type Collection, collections, nameOf } from "../entities/index.ts";
import { type PerCollection, perCollection } from "../entities/per-collection.ts";
import { combine } from "./combine.ts";
import { freezeDeep } from "./freeze.ts";
import type { Held } from "./held.ts";
import { scanLookup } from "./lookup.ts";
import { type HashedSnapshot, makeSnapshotLean } from "./make.ts";

/** Entities that were checked one by one, and the ids of those that are gone. */
export interface CheckedEdit {
  readonly put: PerCollection<readonly Held[]>;
  readonly remove: PerCollection<readonly string[]>;
}

/**
 * Null when the entities do not fit to those that stay, or when one of them is called otherwise now: others may have
 * referred to it by its name. What the edit has to do with all others is found by looking at them, once.
 */
export function adoptEdit(before: HashedSnapshot, { put, remove }: CheckedEdit): HashedSnapshot | null {
  const { snapshot: previous } = before;
  const isRenamed = (collection: Collection, entity: Held): boolean => {
    const held = previous[collection].get(entity.id);
    return held !== undefined && nameOf(collection, held) !== nameOf(collection, entity);
  };
  if (collections.some((collection) => put[collection].some((entity) => isRenamed(collection, entity)))) return null;
  const same = (held: Held | undefined, entity: Held): Held =>
    held !== undefined && isDeepStrictEqual(held, entity) ? held : freezeDeep(entity);
  const puts = perCollection((collection) =>
    put[collection].map((entity) => ({ path: [], entity: same(previous[collection].get(entity.id), entity) })),
  );
  const ids = new Set(Object.values(remove).flat());
  const { maps, violations } = combine({
    previous,
    puts,
    faulty: perCollection(() => new Set<string>()),
    removals: (collection) => new Map(remove[collection].map((id) => [id, []])),
    endpoints: new Map(),
    lookups: (collection) => scanLookup(collection, previous[collection], { claimants: put[collection], ids }),
  });
  return violations.length > 0 ? null : makeSnapshotLean(before, maps);
}
