/**
 * Writes of this process that a watch has not delivered yet. The cache shows them until the watch has caught up, so
 * that callers need not wait for the watch. Resource versions must be increasing numbers, and the watch must deliver
 * them in ascending order.
 */
import type { Resource } from "../resource.ts";

interface PendingWrite {
  readonly uid: string | undefined;
  /** The written version; undefined: the write removed the resource. */
  readonly version: bigint | undefined;
}

/** The state of a resource as a watch delivers it. */
interface ObservedState {
  /** Null: the resource is absent. */
  readonly resource: Resource | null;
  /** The resource as the removal event has it; absent when a removal is known only from a list without the resource. */
  readonly event?: Resource;
}

/** The version as a number; undefined if it is not a number (in a directory). */
export function versionOf({ metadata: { resourceVersion = "" } }: Pick<Resource, "metadata">): bigint | undefined {
  return /^\d+$/.test(resourceVersion) ? BigInt(resourceVersion) : undefined;
}

export type PendingWrites = ReturnType<typeof createPendingWrites>;

/** Pending writes of one kind, by resource key. */
export function createPendingWrites() {
  const entries = new Map<string, PendingWrite>();

  /** Whether the watch has caught up with the write. */
  function isReached({ uid, version }: PendingWrite, { resource, event }: ObservedState): boolean {
    if (version === undefined) return resource === null || resource.metadata.uid !== uid;
    const observed = resource ?? event;
    // A list without the resource may be older than the write, so it does not prove that the watch has caught up.
    return observed !== undefined && (versionOf(observed) ?? 0n) >= version;
  }

  return {
    record(key: string, resource: Resource, { removed }: { readonly removed: boolean }): void {
      entries.set(key, { uid: resource.metadata.uid, version: removed ? undefined : versionOf(resource) });
    },
    has: (key: string): boolean => entries.has(key),
    /**
     * Whether the watch's state is older than the pending write and must therefore be ignored. If not, drops the
     * pending write.
     */
    supersedes(key: string, observed: ObservedState): boolean {
      const entry = entries.get(key);
      if (!entry) return false;
      if (!isReached(entry, observed)) return true;
      entries.delete(key);
      return false;
    },
    /**
     * Drops pending writes (not removals) with a lower version than this event, and returns their keys. The watch
     * passed these versions while it was interrupted, so it will never deliver them.
     */
    expireBefore(event: Resource): readonly string[] {
      if (entries.size === 0) return [];
      const now = versionOf(event) ?? 0n;
      const over = [...entries].flatMap(([key, { version }]) => (version !== undefined && version < now ? [key] : []));
      for (const key of over) entries.delete(key);
      return over;
    },
  };
}
