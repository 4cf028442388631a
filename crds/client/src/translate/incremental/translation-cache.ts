/**
 * Caches the translation of each resource. An entry is valid while the resource is unchanged and all lookups of its
 * translation have the same results. A valid entry returns the identical value, by which later stages detect that
 * nothing changed.
 */
import { refKey } from "../../keys.ts";
import type { Kind, Resource } from "../../resource.ts";
import type { TranslationLookups } from "./tracked-translation.ts";

export interface CacheableTranslation<Value> {
  readonly value: Value;
  /** Whether all lookups still have the same results. */
  readonly isCurrent: (lookups: TranslationLookups) => boolean;
}

/** The last translation under a key. */
export interface PreviousTranslation<Value> {
  readonly value: Value;
  /** Whether the value was translated from the same object, not from an earlier object with this name. */
  readonly isSameObject: boolean;
}

export interface TranslationCacheOptions<Value> {
  readonly translate: (
    resource: Resource,
    lookups: TranslationLookups,
    previous: PreviousTranslation<Value> | undefined,
  ) => CacheableTranslation<Value>;
  /** Returns a value that changes with every part of a resource that its translation reads. */
  readonly versionOf: (resource: Resource) => unknown;
}

export type TranslationCache<Value> = ReturnType<typeof createTranslationCache<Value>>;

interface Entry<Value> extends CacheableTranslation<Value> {
  readonly uid: string | undefined;
  readonly version: unknown;
  /** Shared by all entries that this key has had since it was last forgotten. */
  readonly history: { isForgotten: boolean };
}

export function createTranslationCache<Value>({ translate, versionOf }: TranslationCacheOptions<Value>) {
  const entries = new Map<string, Entry<Value>>();
  /** The entry for each object that was passed to `translate`: a faster lookup than by key. */
  const byResource = new WeakMap<Resource, Entry<Value>>();

  /** Forgets all versions of a resource: a caller may still have the object of an earlier version. */
  function forget(key: string): void {
    const entry = entries.get(key);
    if (!entry) return;
    entry.history.isForgotten = true;
    entries.delete(key);
  }

  return {
    translate(resource: Resource, lookups: TranslationLookups): Value {
      const same = byResource.get(resource);
      if (same && !same.history.isForgotten && same.isCurrent(lookups)) return same.value;
      const { namespace, name, uid } = resource.metadata;
      const version = versionOf(resource);
      const key = refKey({ kind: resource.kind as Kind, namespace, name });
      const before = entries.get(key);
      const isUsable = before && before !== same && before.uid === uid && before.version === version;
      if (isUsable && before.isCurrent(lookups)) {
        byResource.set(resource, before);
        return before.value;
      }
      const previous = before && { value: before.value, isSameObject: before.uid === uid };
      const { value, isCurrent } = translate(resource, lookups, previous);
      const history = before?.history ?? { isForgotten: false };
      const entry: Entry<Value> = { value, isCurrent, uid, version, history };
      entries.set(key, entry);
      byResource.set(resource, entry);
      return value;
    },
    /** @param key A `refKey`. */
    forget,
    /** Forgets all resources except those with these keys. */
    keepOnly(keys: ReadonlyMap<string, unknown>): void {
      for (const key of entries.keys()) if (!keys.has(key)) forget(key);
    },
  };
}
