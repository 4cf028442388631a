/**
 * What a process has written itself and no watch has told yet: it counts until a watch brings that version or a later
 * one, so that nobody has to wait for it. Only where versions are numbers that grow; in memory, bounded by time.
 */
import type { Resource } from "./resource.ts";

/** Milliseconds after which a watch that has not told of a write is believed nevertheless. */
const PATIENCE = 5000;

interface Entry {
  readonly uid: string | undefined;
  /** Undefined: the resource was removed. */
  readonly version: bigint | undefined;
  readonly timer: NodeJS.Timeout;
}

export interface Ahead {
  /** `resource` is there as it was written, or with `removed` gone; after a while `over` is called instead of a watch. */
  note(key: string, resource: Resource, what: { readonly removed: boolean; readonly over: () => void }): void;
  has(key: string): boolean;
  /** Whether what a watch tells (null: nothing is there any more) is older than what was written: it does not count. */
  outdates(key: string, told: { readonly resource: Resource | null; readonly event?: Resource }): boolean;
  close(): void;
}

/** The version as a number; undefined where versions have no order (a directory's). */
export function versionOf({ metadata: { resourceVersion = "" } }: Pick<Resource, "metadata">): bigint | undefined {
  return /^\d+$/.test(resourceVersion) ? BigInt(resourceVersion) : undefined;
}

export function createAhead(): Ahead {
  const entries = new Map<string, Entry>();

  function forget(key: string): void {
    clearTimeout(entries.get(key)?.timer);
    entries.delete(key);
  }

  /** Whether the watch has come as far as the write. */
  function isReached({ uid, version }: Entry, { resource, event }: Parameters<Ahead["outdates"]>[1]): boolean {
    const told = resource ?? event;
    // A list that does not have it tells that it is gone, but not that it was not made after the list.
    if (!told) return version === undefined;
    if (version === undefined) return resource === null || told.metadata.uid !== uid;
    return (versionOf(told) ?? 0n) >= version;
  }

  return {
    note(key, resource, { removed, over }) {
      forget(key);
      const timer = setTimeout(() => {
        entries.delete(key);
        over();
      }, PATIENCE);
      timer.unref();
      entries.set(key, { uid: resource.metadata.uid, version: removed ? undefined : versionOf(resource), timer });
    },
    has: (key) => entries.has(key),
    outdates(key, told) {
      const entry = entries.get(key);
      if (!entry) return false;
      if (!isReached(entry, told)) return true;
      forget(key);
      return false;
    },
    close() {
      for (const key of [...entries.keys()]) forget(key);
    },
  };
}
