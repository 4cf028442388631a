/**
 * Translates the world, which is its whole definition (whole.ts), and remembers enough to carry a translation on when few
 * resources have changed (next.ts): the same world gives the same translation, whichever way.
 */
import type { Resource } from "@sluice/crds";
import type { LastValidVersions } from "../saved-state/last-valid-versions.ts";
import { runToCompletion, type TimeSliced } from "../time-slicing.ts";
import type { ClusterState } from "../watch/cluster-state.ts";
import { createResourceLookups } from "./lookups.ts";
import { createTranslateAll, type FullTranslation } from "./translate-all.ts";
import { createTranslateIncremental, type TranslateIncremental } from "./translate-incremental.ts";
import type { Translation } from "./translation.ts";
import { createTranslationCache } from "./translation-cache.ts";

export interface TranslatorOptions {
  readonly homeNamespace: string;
  /** Resources of another class belong to another Sluice. */
  readonly class: string;
  /** Which class a resource is of. Default: spec.class, or the default class. */
  readonly classOf?: (resource: Resource) => string;
  /** What stands in for a resource that was made invalid. Absent: nothing does. */
  readonly lastValid?: LastValidVersions;
}

export interface Translator {
  /**
   * Carries the last translation on; undefined: the whole has to be translated.
   *
   * @param changed `ownerKey`s of all resources that mean something else than in the last translated world, or are gone.
   */
  translateIncremental(clusterState: ClusterState, changed: ReadonlySet<string>): Translation | undefined;
  /** The world must stay as it is until the last step, and nothing else be translated meanwhile. */
  translateAll(clusterState: ClusterState): TimeSliced<Translation>;
}

/** More changes than this share of all resources are not worth their own work. */
const MAX_CHANGED_SHARE = 1 / 4;
/** But few always are. */
const MIN_CHANGED_LIMIT = 16;
/** And more than these take too long for one turn of the event loop; the whole is translated in many. */
const MAX_CHANGED_LIMIT = 1000;

export function createTranslator(options: TranslatorOptions): Translator {
  const cache = createTranslationCache(options.homeNamespace, options.lastValid);
  const lookups = createResourceLookups(options);
  const translateAll = createTranslateAll({ cache, lookups });
  let last: FullTranslation | undefined;
  /** Carries on the last translation; made when it is first needed. */
  let translateIncremental: TranslateIncremental | undefined;

  return {
    translateIncremental(clusterState, changed) {
      if (
        !last ||
        changed.size > Math.min(Math.max(MIN_CHANGED_LIMIT, last.resources.size * MAX_CHANGED_SHARE), MAX_CHANGED_LIMIT)
      )
        return undefined;
      const translate = translateIncremental ?? createTranslateIncremental({ last, cache, lookups });
      // What is left in the middle is not gone on with.
      translateIncremental = undefined;
      const translation = translate(clusterState, changed);
      if (translation) translateIncremental = translate;
      return translation;
    },
    *translateAll(clusterState) {
      last = undefined;
      translateIncremental = undefined;
      last = yield* translateAll(clusterState);
      return last.translation;
    },
  };
}

/** @param changed null (the default): nobody knows. */
export type Translate = (clusterState: ClusterState, changed?: ReadonlySet<string> | null) => Translation;

/** Each translation in one piece. */
export function createTranslate(options: TranslatorOptions): Translate {
  const translator = createTranslator(options);
  return (clusterState, changed = null) =>
    (changed && translator.translateIncremental(clusterState, changed)) ??
    runToCompletion(translator.translateAll(clusterState));
}
