/** Caches each resource's translation while the resource and all its inputs are unchanged. */
import {
  type CheckedTranslation,
  type Resource,
  type TrackedTranslation,
  type TranslationLookups,
  translateTracked,
} from "@sluice/crds";

export type { TranslationLookups };
export type TranslateResource = (resource: Resource, ask: TranslationLookups) => readonly CheckedTranslation[];

/** Memoizes a function by the identity of its argument, which must not change. */
export function memoize<Key extends object, Value>(compute: (key: Key) => Value): (key: Key) => Value {
  const known = new WeakMap<Key, { readonly value: Value }>();
  return (key) => {
    const before = known.get(key);
    if (before) return before.value;
    const value = compute(key);
    known.set(key, { value });
    return value;
  };
}

/** By object identity: the resource cache returns the same object as long as the resource is unchanged. */
export function createCachedTranslation(homeNamespace: string): TranslateResource {
  const remembered = new WeakMap<Resource, TrackedTranslation>();
  return (resource, ask) => {
    const before = remembered.get(resource);
    if (before?.isCurrent(ask)) return before.translated;
    const noted = translateTracked(resource, { homeNamespace, audience: "admin" }, ask);
    remembered.set(resource, noted);
    return noted.translated;
  };
}
