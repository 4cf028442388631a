/** Applies changes that another thread or process has checked, and edits whose entities were checked individually. */
import { isDeepStrictEqual } from "node:util";
import { type Change, type DocumentListener, endpointSections, perEndpointSection } from "../document.ts";
import { type Collection, collections, entityNameOf, type PerCollection, perCollection } from "../entities/index.ts";
import type { Snapshot } from "../snapshot.ts";
import { BucketMap, hashOfId, hashOfText } from "./bucket-map.ts";
import { combineChange } from "./combine-change.ts";
import { type EndpointList, noChangedLists } from "./constraints/endpoints.ts";
import { scanEntities } from "./entity-index.ts";
import type { HashTree } from "./hash-tree.ts";
import { makeSnapshot, type SnapshotMaps, snapshotFromMaps } from "./make-snapshot.ts";
import { freezeDeep, type StoredEntity } from "./stored-entity.ts";

/**
 * Applies a change of checked entities, such as the result of `changeBetween` from another thread or process. Nothing
 * is checked, so the cost is proportional to the change and no memory is needed for checking.
 *
 * @param hash The hash of the resulting snapshot, or the tree of its hashes if further edits will follow. Absent: it is
 * computed. With a hash, no digest is computed.
 */
export function adoptChange(previous: Snapshot, change: Change, hash?: string | HashTree): Snapshot {
  const maps = perCollection((collection) => {
    const removed = change.remove[collection] ?? [];
    const put = (change.put[collection] ?? []) as readonly StoredEntity[];
    return BucketMap.of<StoredEntity>(previous[collection], hashOfId).with([
      ...removed.map((id) => [id, undefined] as const),
      ...put.map((entity) => [entity.id, freezeDeep(entity)] as const),
    ]);
  });
  const addresses = perEndpointSection((section) =>
    BucketMap.of<EndpointList>(previous[section], hashOfId).with([
      ...(change.remove[endpointSections[section]] ?? []).map((id) => [id, undefined] as const),
      ...Object.entries<EndpointList | null>(change[section] ?? {}).map(
        ([id, list]) => [id, freezeDeep(list) ?? undefined] as const,
      ),
    ]),
  );
  const before: Readonly<Record<string, unknown>> = { ...previous };
  const listeners = BucketMap.of<DocumentListener>(previous.listeners, hashOfText).with(
    Object.entries(change.listeners ?? {}).map(
      ([name, listener]) => [name, freezeDeep(listener) ?? undefined] as const,
    ),
  );
  const made = { ...maps, ...addresses, listeners } as unknown as SnapshotMaps;
  if (Object.entries(made).every(([section, map]) => map === before[section])) return previous;
  if (hash === undefined) return makeSnapshot(previous, made);
  return typeof hash === "string" ? Object.freeze({ hash, ...made }) : snapshotFromMaps(made, hash);
}

export interface CheckedEdit {
  readonly put: PerCollection<readonly StoredEntity[]>;
  readonly remove: PerCollection<readonly string[]>;
}

/**
 * Applies an edit whose entities were checked. Returns null when the edit violates integrity or uniqueness, or when it
 * renames an entity: other entities may reference the entity by name. Conflicts with unchanged entities are found by
 * scanning them, without a cached index.
 */
export function adoptEdit(previous: Snapshot, { put, remove }: CheckedEdit): Snapshot | null {
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
    endpoints: noChangedLists,
    listeners: new Map(),
    lookups: (collection) => scanEntities(collection, previous[collection], { claimants: put[collection], ids }),
  });
  return violations.length > 0 ? null : makeSnapshot(previous, maps);
}
