/**
 * The last published snapshots, by hash. The hash that a node reports identifies the revision that the node runs, and
 * the base of the change to push.
 */
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
      // A hash that is published again (after a change and its reversal) moves to the newest position.
      published.delete(next.snapshot.hash);
      published.set(next.snapshot.hash, next);
      latest = next;
      const [oldest] = published.keys();
      if (published.size > size && oldest !== undefined) published.delete(oldest);
    },
    byHash: (hash: string) => published.get(hash),
    latest: () => latest,
    /** The snapshot that was published after the one with this hash; undefined: this one is the last, or not kept. */
    after(hash: string) {
      let isNext = false;
      for (const [other, entry] of published) {
        if (isNext) return entry;
        isNext = other === hash;
      }
      return undefined;
    },
  };
}

export type PublishHistory = ReturnType<typeof createPublishHistory>;
