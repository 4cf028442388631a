/** Determines which resources have to be translated again when other resources change. */
import { parseRefKey } from "../../keys.ts";
import { isSluiceKind } from "../../kinds.ts";
import { MultiMap } from "./relation.ts";

export class DependencyIndex {
  /** The keys of dependent resources, by the key that they looked up. The object with that key need not exist. */
  readonly #dependents = new MultiMap<string, string>();

  add(key: string, dependencies: Iterable<string>): void {
    for (const dependency of dependencies) this.#dependents.add(dependency, key);
  }

  remove(key: string, dependencies: Iterable<string>): void {
    for (const dependency of dependencies) this.#dependents.delete(dependency, key);
  }

  /**
   * The keys of the custom resources to translate again: those that changed, and the dependents of changed keys.
   *
   * @param changed Keys of resources that changed or were deleted, and keys of ReferenceGrants that changed.
   * @param hasNewId Whether the id of a custom resource's entity has changed: dependents read only the id.
   */
  affectedBy(changed: Iterable<string>, hasNewId: (key: string) => boolean): ReadonlySet<string> {
    const affected = new Set<string>();
    for (const key of changed) {
      const isTranslated = isSluiceKind(parseRefKey(key).kind);
      if (isTranslated) affected.add(key);
      if (isTranslated && !hasNewId(key)) continue;
      for (const dependent of this.#dependents.get(key)) affected.add(dependent);
    }
    return affected;
  }
}

/** Above this share of changed resources, translating all resources costs less. */
const MAX_CHANGED_SHARE = 1 / 4;
/** Up to this number of changes, translation is always incremental. */
const MIN_CHANGED_LIMIT = 16;

/** Whether translating only the changed resources and their dependents costs less than translating all resources. */
export const isFewChanges = (changed: number, all: number): boolean =>
  changed <= Math.max(MIN_CHANGED_LIMIT, all * MAX_CHANGED_SHARE);
