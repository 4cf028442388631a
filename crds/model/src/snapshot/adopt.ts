/** Taking over in one thread what another thread of the same process has checked. */
import type { Change, Endpoint } from "../document.ts";
import { collections } from "../entities/index.ts";
import { perCollection } from "../entities/per-collection.ts";
import type { Snapshot } from "../snapshot.ts";
import { BucketMap, byId } from "./bucket-map.ts";
import { freezeDeep } from "./freeze.ts";
import type { Held } from "./held.ts";

/**
 * Applies what `changeBetween` told in another thread, and the hash that the snapshot has there. Nothing is checked and
 * no digest is worked out: it costs what changed, and none of the memory that checking takes.
 */
export function adoptChange(previous: Snapshot, change: Change, hash: string): Snapshot {
  const maps = perCollection((collection) => {
    const removed = change.remove[collection] ?? [];
    const put = (change.put[collection] ?? []) as readonly Held[];
    return BucketMap.of<Held>(previous[collection], byId).with([
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
