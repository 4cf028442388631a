/** The last published snapshots, by hash: what a node runs tells how far it is, and what change brings it up to date. */
import type { Snapshot } from "@sluice/model";

export interface Published {
  readonly revision: number;
  readonly snapshot: Snapshot;
}

export interface History {
  add(published: Published): void;
  byHash(hash: string): Published | undefined;
  latest(): Published | undefined;
}

/** Keeps `size` snapshots; they share what did not change, so that keeping them costs little. */
export function createHistory(size = 32): History {
  const published = new Map<string, Published>();
  let latest: Published | undefined;
  return {
    add(next) {
      // A hash that comes back (a change and its reversal) takes its newest place.
      published.delete(next.snapshot.hash);
      published.set(next.snapshot.hash, next);
      latest = next;
      for (const hash of published.keys()) {
        if (published.size <= size) break;
        published.delete(hash);
      }
    },
    byHash: (hash) => published.get(hash),
    latest: () => latest,
  };
}
