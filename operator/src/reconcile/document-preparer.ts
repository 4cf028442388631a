/** From the world to what is to be published next: batches hold back, the rest is translated and put together. */

import type { Problem } from "../status/conditions.ts";
import type { TimeSliced } from "../time-slicing.ts";
import type { Translation } from "../translate/translation.ts";
import type { Translator } from "../translate/translator.ts";
import { type ClusterState, copyClusterState } from "../watch/cluster-state.ts";
import type { Batches, HeldBack } from "./batches.ts";
import { buildSnapshotSliced, type SnapshotBuild } from "./build-snapshot.ts";
import { withHeldBack } from "./with-held-back.ts";

export interface DocumentPreparerOptions {
  /** Every resource, as it stands now. */
  readonly resources: ClusterState;
  readonly batches: Batches;
  readonly translator: Translator;
  readonly empty: SnapshotBuild;
}

export interface PreparedDocument {
  readonly built: SnapshotBuild;
  /** By `ownerKey`. */
  readonly problems: Translation["problems"];
  readonly owners: Translation["owners"];
  /** All resources as they stood when it was begun, or, when a few were translated, as they stand now. */
  readonly resources: ClusterState;
  /** `ownerKey`s of all that may differ from what was made before; null: everything. */
  readonly changed: ReadonlySet<string> | null;
  /** Milliseconds until the same world has to be looked at again; null: only when something changes. */
  readonly recheckAfter: number | null;
}

/**
 * @param changed `ownerKey`s of what means something else than when the last that was made was begun; null: it may be
 *   anything. What changes from the first step on is for the next time. One is made after the other.
 */
export type PrepareDocument = (changed: ReadonlySet<string> | null) => TimeSliced<PreparedDocument>;

interface TranslatedState {
  readonly held: Omit<HeldBack, "clusterState">;
  readonly resources: ClusterState;
  readonly translation: Translation;
}

export function createDocumentPreparer({
  resources,
  batches,
  translator,
  empty,
}: DocumentPreparerOptions): PrepareDocument {
  let built = empty;
  /** `ownerKey`s of what batches held back or told about in the last translation. */
  let inBatches: ReadonlySet<string> = new Set();

  function* translate(changed: ReadonlySet<string> | null): TimeSliced<TranslatedState> {
    if (changed) {
      const { clusterState, ...held } = batches.holdBack(resources);
      const translation = translator.translateIncremental(clusterState, union(changed, inBatches, keysOf(held)));
      if (translation) return { held, resources, translation };
    }
    // It takes several turns, in which resources change.
    const still = copyClusterState(resources);
    const { clusterState, ...held } = batches.holdBack(still);
    return { held, resources: still, translation: yield* translator.translateAll(clusterState) };
  }

  return function* make(changed) {
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
