/**
 * Prepares the next document from the cluster state: holds back incomplete batches, translates, and builds a snapshot.
 */

import type { Problem } from "../status/conditions.ts";
import type { TimeSliced } from "../time-slicing.ts";
import type { Translation } from "../translate/translation.ts";
import type { Translator } from "../translate/translator.ts";
import { type ClusterState, copyClusterState } from "../watch/cluster-state.ts";
import { type Batches, type HeldBack, withHeldBack } from "./batches.ts";
import { buildSnapshotSliced, emptyBuild, type SnapshotBuild } from "./build-snapshot.ts";

export interface DocumentPreparerOptions {
  /** Every resource in its current version. */
  readonly clusterState: ClusterState;
  readonly batches: Batches;
  readonly translator: Translator;
}

export interface PreparedDocument {
  readonly built: SnapshotBuild;
  /** By `ownerKey`. */
  readonly problems: Translation["problems"];
  readonly owners: Translation["owners"];
  /** All resources as of the start of a full translation; after an incremental one, the current resources. */
  readonly resources: ClusterState;
  /** `ownerKey`s of all resources that may differ from the last result; null: all of them. */
  readonly changed: ReadonlySet<string> | null;
  /** Milliseconds until the same state has to be checked again; null: only when something changes. */
  readonly recheckAfter: number | null;
}

/**
 * Only one preparation may run at a time. Changes after its first step go into the next one.
 *
 * @param changed `ownerKey`s of resources whose meaning changed since the last completed preparation was started; null:
 * unknown.
 */
export type PrepareDocument = (changed: ReadonlySet<string> | null) => TimeSliced<PreparedDocument>;

interface TranslatedState {
  readonly held: Omit<HeldBack, "clusterState">;
  readonly resources: ClusterState;
  readonly translation: Translation;
}

export function createDocumentPreparer({
  clusterState: resources,
  batches,
  translator,
}: DocumentPreparerOptions): PrepareDocument {
  let built = emptyBuild;
  /** `ownerKey`s of resources that batches held back or reported in the last translation. */
  let inBatches: ReadonlySet<string> = new Set();

  function* translate(changed: ReadonlySet<string> | null): TimeSliced<TranslatedState> {
    if (changed) {
      const { clusterState, ...held } = batches.holdBack(resources);
      const translation = translator.translateIncremental(clusterState, union(changed, inBatches, keysOf(held)));
      if (translation) return { held, resources, translation };
    }
    // It takes several turns of the event loop, during which resources change.
    const still = copyClusterState(resources);
    const { clusterState, ...held } = batches.holdBack(still);
    return { held, resources: still, translation: yield* translator.translateAll(clusterState) };
  }

  return function* prepare(changed) {
    const translated = yield* translate(changed);
    const { held } = translated;
    const translation = withHeldBack(translated.translation, held);
    const result = yield* buildSnapshotSliced(built, translation);
    const known = changed && union(changed, inBatches, keysOf(held));
    built = result.built;
    inBatches = keysOf(held);
    return {
      built,
      problems: mergeProblems(translation.problems, result.problems),
      owners: translation.owners,
      resources: translated.resources,
      changed: known,
      recheckAfter: held.recheckAfter,
    };
  };
}

const keysOf = ({ held, problems }: Omit<HeldBack, "clusterState">): ReadonlySet<string> =>
  new Set([...held, ...problems.keys()]);

const union = (...sets: readonly ReadonlySet<string>[]): ReadonlySet<string> =>
  new Set(sets.flatMap((set) => [...set]));

function mergeProblems(
  one: Translation["problems"],
  other: ReadonlyMap<string, readonly Problem[]>,
): Translation["problems"] {
  return one.with([...other].map(([key, list]) => [key, [...(one.get(key) ?? []), ...list]] as const));
}
