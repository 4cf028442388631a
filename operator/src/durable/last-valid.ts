/**
 * The last valid version of each resource: what is served of one that was made invalid (house decision 11). It is what
 * the document was made of, and is kept over restarts (keeper.ts). Resources that are valid stand for themselves.
 */
import type { Resource } from "@sluice/crds";

export interface LastValid {
  /** Of the very object with this uid; undefined: it was never valid, as far as is known. */
  of(key: string, uid: string | undefined): Resource | undefined;
  note(key: string, resource: Resource): void;
  /** The resource is another object by now. With the same spec it takes the place of the one before, which may go. */
  refresh(key: string, resource: Resource | undefined): void;
  forget(key: string): void;
  /** Lets go of resources that are not there any more. */
  keepOnly(keys: ReadonlyMap<string, unknown>): void;
  /** By `ownerKey`. */
  all(): ReadonlyMap<string, Resource>;
  /** What was kept from before; what was noted since is newer. */
  restore(kept: ReadonlyMap<string, Resource>): void;
}

export function createLastValid(): LastValid {
  const valid = new Map<string, Resource>();
  return {
    of(key, uid) {
      const found = valid.get(key);
      return found && found.metadata.uid === uid ? found : undefined;
    },
    note: (key, resource) => void valid.set(key, resource),
    refresh(key, resource) {
      const { uid, generation } = valid.get(key)?.metadata ?? {};
      if (!resource || generation === undefined) return;
      if (resource.metadata.uid === uid && resource.metadata.generation === generation) valid.set(key, resource);
    },
    forget: (key) => void valid.delete(key),
    keepOnly(keys) {
      for (const key of valid.keys()) if (!keys.has(key)) valid.delete(key);
    },
    all: () => valid,
    restore(kept) {
      for (const [key, resource] of kept) if (!valid.has(key)) valid.set(key, resource);
    },
  };
}
