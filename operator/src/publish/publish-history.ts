/** The last published snapshots, by hash. The hash of a node's document gives its revision and the base of a change. */
import type { Snapshot } from "@sluice/model";

export interface PublishedSnapshot {
  readonly revision: number;
  readonly snapshot: Snapshot;
}

/** Keeps `size` snapshots. They share unchanged parts, so that keeping them costs little. */
export function createPublishHistory(size = 32) {
  const published = new Map<string, PublishedSnapshot>();
  let latest: PublishedSnapshot | undefined;
  return {
    add(next: PublishedSnapshot) {
      // A hash that returns (a change and its reversal) moves to its newest position.
      published.delete(next.snapshot.hash);
      published.set(next.snapshot.hash, next);
      latest = next;
      const [oldest] = published.keys();
      if (published.size > size && oldest !== undefined) published.delete(oldest);
    },
    byHash: (hash: string) => published.get(hash),
    latest: () => latest,
  };
}

export type PublishHistory = ReturnType<typeof createPublishHistory>;
