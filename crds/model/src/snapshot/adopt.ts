/** Applies a change that another thread of the same process has already checked. */
import type { Change, Endpoint } from "../document.ts";
import { collections } from "../entities/index.ts";
import { perCollection } from "../entities/per-collection.ts";
import type { Snapshot } from "../snapshot.ts";
import { BucketMap, byId } from "./bucket-map.ts";
import { freezeDeep } from "./freeze.ts";
import type { StoredEntity } from "./stored-entity.ts";

/**
 * Applies the result of `changeBetween` from another thread, with the hash of that thread's snapshot. Nothing is checked
 * and no digest is computed, so the cost is proportional to the change and no memory is needed for checking.
 */
export function adoptChange(previous: Snapshot, change: Change, hash: string): Snapshot {
  const maps = perCollection((collection) => {
    const removed = change.remove[collection] ?? [];
    const put = (change.put[collection] ?? []) as readonly StoredEntity[];
    return BucketMap.of<StoredEntity>(previous[collection], byId).with([
      ...removed.map((id) => [id, undefined] as const),
      ...put.map((entity) => [entity.id, freezeDeep(entity)] as const),
    ]);
  });
  const endpoints = BucketMap.of<readonly Endpoint[]>(previous.endpoints, byId).with([
    ...(change.remove.services ?? []).map((id) => [id, undefined] as const),
    ...Object.entries(change.endpoints ?? {}).map(([id, list]) => [id, freezeDeep(list) ?? undefined] as const),
  ]);
  const before: Readonly<Record<string, unknown>> = { ...previous };
  const same = collections.every((collection) => maps[collection] === before[collection]);
  if (same && endpoints === previous.endpoints) return previous;
  return Object.freeze({ hash, ...maps, endpoints }) as unknown as Snapshot;
}
