/**
 * Translates the cluster state. The full translation defines the result (translate-all.ts). When few resources have
 * changed, the last translation is continued (translate-incremental.ts), with the same result.
 */
import { classOf as byItself, createResourceLookups, isFewChanges, type Resource } from "@sluice/crds";
import type { LastValidVersions } from "../saved-state/last-valid-versions.ts";
import { runToCompletion, type TimeSliced } from "../time-slicing.ts";
import type { ClusterState } from "../watch/cluster-state.ts";
import { createTranslateAll, type FullTranslation } from "./translate-all.ts";
import { createTranslateIncremental } from "./translate-incremental.ts";
import { createResourceTranslations } from "./translate-resource.ts";
import type { Translation } from "./translation.ts";

export interface TranslatorOptions {
  readonly homeNamespace: string;
  /** Resources of another class belong to another operator. */
  readonly class: string;
  /** The class of a resource. Default: spec.class, or the default class. */
  readonly classOf?: (resource: Resource) => string;
  /** The last valid versions, which replace invalid ones. Absent: invalid resources are not replaced. */
  readonly lastValid?: LastValidVersions;
}

export function createTranslator(options: TranslatorOptions) {
  const cache = createResourceTranslations(options.homeNamespace, options.lastValid);
  const { homeNamespace, classOf = byItself } = options;
  const lookups = createResourceLookups({ homeNamespace, isOwn: (resource) => classOf(resource) === options.class });
  const translateAll = createTranslateAll(cache, lookups);
  let last: FullTranslation | undefined;
  /** A function that continues the last translation. It is created when it is first needed. */
  let translateIncremental: ReturnType<typeof createTranslateIncremental> | undefined;

  return {
    /**
     * Continues the last translation in steps; undefined: everything has to be translated. Until the last step, the
     * state must not change and no other translation may run.
     *
     * @param changed `refKey`s of all resources that were deleted, or in which more than status and bookkeeping
     * changed, since the last translated state.
     */
    *translateIncremental(
      clusterState: ClusterState,
      changed: ReadonlySet<string>,
    ): TimeSliced<Translation | undefined> {
      if (!last || !isFewChanges(changed.size, last.resources.size)) return undefined;
      const translate = translateIncremental ?? createTranslateIncremental(last, cache, lookups);
      // An incremental translation that failed midway must not be continued.
      translateIncremental = undefined;
      const translation = yield* translate(clusterState, changed);
      if (translation) translateIncremental = translate;
      return translation;
    },
    /**
     * Translates everything in steps. Until the last step, the state must not change and no other translation may run.
     */
    *translateAll(clusterState: ClusterState) {
      last = undefined;
      translateIncremental = undefined;
      last = yield* translateAll(clusterState);
      return last.translation;
    },
  };
}

export type Translator = ReturnType<typeof createTranslator>;

/** Returns a function that translates without interruption. `changed` null (the default): the changes are unknown. */
export function createTranslate(options: TranslatorOptions) {
  const translator = createTranslator(options);
  return (clusterState: ClusterState, changed: ReadonlySet<string> | null = null): Translation =>
    (changed && runToCompletion(translator.translateIncremental(clusterState, changed))) ??
    runToCompletion(translator.translateAll(clusterState));
}
