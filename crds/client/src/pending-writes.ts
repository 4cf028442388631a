/**
 * What a process has written itself and a watch has not told yet: it counts until the watch has come as far, so that
 * nobody has to wait for it. Only where versions are numbers that grow, and in a watch in this order.
 */
import type { Resource } from "./resource.ts";

interface PendingWrite {
  readonly uid: string | undefined;
  /** Undefined: the resource was removed. */
  readonly version: bigint | undefined;
}

/** Of the resources of one kind, by their keys. */
export interface PendingWrites {
  record(key: string, resource: Resource, options: { readonly removed: boolean }): void;
  has(key: string): boolean;
  /**
   * Whether what a watch tells (`resource` null: nothing is there any more) is older than what was written: it does
   * not count.
   *
   * @param event The last that was told of a resource that is gone; absent when a list does not have it.
   */
  supersedes(key: string, told: { readonly resource: Resource | null; readonly event?: Resource }): boolean;
  /** Forgets what a watch would have told before this event, and gives the keys: it was missed between two lists. */
  expireBefore(event: Resource): readonly string[];
}

/** The version as a number; undefined where versions have no order (a directory's). */
export function versionOf({ metadata: { resourceVersion = "" } }: Pick<Resource, "metadata">): bigint | undefined {
  return /^\d+$/.test(resourceVersion) ? BigInt(resourceVersion) : undefined;
}

export function createPendingWrites(): PendingWrites {
  const entries = new Map<string, PendingWrite>();

  /** Whether the watch has come as far as the write. */
  function isReached(
    { uid, version }: PendingWrite,
    { resource, event }: Parameters<PendingWrites["supersedes"]>[1],
  ): boolean {
    if (version === undefined) return resource === null || resource.metadata.uid !== uid;
    const told = resource ?? event;
    // A list that does not have it may have been made before it.
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
