/** Applies an edit whose entities were checked one by one, without the indexes that full checking keeps in memory. */
import { isDeepStrictEqual } from "node:util";
import { type Collection, collections, entityNameOf } from "../entities/index.ts";
import { type PerCollection, perCollection } from "../entities/per-collection.ts";
import { combineChange } from "./combine-change.ts";
import { scanEntities } from "./entity-index.ts";
import { freezeDeep } from "./freeze.ts";
import { type HashedSnapshot, makeSnapshotLean } from "./make-snapshot.ts";
import type { StoredEntity } from "./stored-entity.ts";

/** Entities that were checked one by one, and the ids of removed entities. */
export interface CheckedEdit {
  readonly put: PerCollection<readonly StoredEntity[]>;
  readonly remove: PerCollection<readonly string[]>;
}

/**
 * Null when the edit violates integrity or uniqueness, or when it renames an entity: other entities may reference it by
 * name. Conflicts with the remaining entities are found by one scan over them.
 */
export function adoptEdit(before: HashedSnapshot, { put, remove }: CheckedEdit): HashedSnapshot | null {
  const { snapshot: previous } = before;
  const isRenamed = (collection: Collection, entity: StoredEntity): boolean => {
    const held = previous[collection].get(entity.id);
    return held !== undefined && entityNameOf(collection, held) !== entityNameOf(collection, entity);
  };
  if (collections.some((collection) => put[collection].some((entity) => isRenamed(collection, entity)))) return null;
  const same = (held: StoredEntity | undefined, entity: StoredEntity): StoredEntity =>
    held !== undefined && isDeepStrictEqual(held, entity) ? held : freezeDeep(entity);
  const puts = perCollection((collection) =>
    put[collection].map((entity) => ({ path: [], entity: same(previous[collection].get(entity.id), entity) })),
  );
  const ids = new Set(Object.values(remove).flat());
  const { maps, violations } = combineChange({
    previous,
    puts,
    faulty: perCollection(() => new Set<string>()),
    removals: (collection) => new Map(remove[collection].map((id) => [id, []])),
    endpoints: new Map(),
    lookups: (collection) => scanEntities(collection, previous[collection], { claimants: put[collection], ids }),
  });
  return violations.length > 0 ? null : makeSnapshotLean(before, maps);
}
