/**
 * Writes of this process that a watch has not delivered yet. They count until the watch has caught up, so that callers
 * need not wait for it. Only for versions that are increasing numbers and that a watch delivers in this order.
 */
import type { Resource } from "../resource.ts";

interface PendingWrite {
  readonly uid: string | undefined;
  /** Undefined: the resource was removed. */
  readonly version: bigint | undefined;
}

/** Pending writes of one kind, by resource key. */
export interface PendingWrites {
  record(key: string, resource: Resource, options: { readonly removed: boolean }): void;
  has(key: string): boolean;
  /**
   * Whether a watch delivered an older state than the pending write (`resource` null: no resource). It is then ignored.
   *
   * @param event The last event of a removed resource; absent when a list does not contain it.
   */
  supersedes(key: string, told: { readonly resource: Resource | null; readonly event?: Resource }): boolean;
  /** Drops pending writes older than this event and returns their keys: the watch missed them between two lists. */
  expireBefore(event: Resource): readonly string[];
}

/** The version as a number; undefined where versions have no order (in a directory). */
export function versionOf({ metadata: { resourceVersion = "" } }: Pick<Resource, "metadata">): bigint | undefined {
  return /^\d+$/.test(resourceVersion) ? BigInt(resourceVersion) : undefined;
}

export function createPendingWrites(): PendingWrites {
  const entries = new Map<string, PendingWrite>();

  /** Whether the watch has caught up with the write. */
  function isReached(
    { uid, version }: PendingWrite,
    { resource, event }: Parameters<PendingWrites["supersedes"]>[1],
  ): boolean {
    if (version === undefined) return resource === null || resource.metadata.uid !== uid;
    const told = resource ?? event;
    // A list without the resource may be older than the write.
    return told !== undefined && (versionOf(told) ?? 0n) >= version;
  }

  return {
    record: (key, resource, { removed }) =>
      void entries.set(key, { uid: resource.metadata.uid, version: removed ? undefined : versionOf(resource) }),
    has: (key) => entries.has(key),
    supersedes(key, told) {
      const entry = entries.get(key);
      if (!entry) return false;
      if (!isReached(entry, told)) return true;
      entries.delete(key);
      return false;
    },
    expireBefore(event) {
      if (entries.size === 0) return [];
      const now = versionOf(event) ?? 0n;
      const over = [...entries].flatMap(([key, { version }]) => (version !== undefined && version < now ? [key] : []));
      for (const key of over) entries.delete(key);
      return over;
    },
  };
}
