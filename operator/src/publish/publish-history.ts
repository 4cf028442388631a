/** The last published snapshots, by hash: what a node runs tells how far it is, and what change brings it up to date. */
import type { Snapshot } from "@sluice/model";

export interface PublishedSnapshot {
  readonly revision: number;
  readonly snapshot: Snapshot;
}

export interface PublishHistory {
  add(published: PublishedSnapshot): void;
  byHash(hash: string): PublishedSnapshot | undefined;
  latest(): PublishedSnapshot | undefined;
}

/** Keeps `size` snapshots; they share what did not change, so that keeping them costs little. */
export function createPublishHistory(size = 32): PublishHistory {
  const published = new Map<string, PublishedSnapshot>();
  let latest: PublishedSnapshot | undefined;
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
