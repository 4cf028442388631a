/**
 * Prepares the next document from the cluster state: holds back incomplete batches, translates, and builds a snapshot.
 */
import type { Problem } from "../status/conditions.ts";
import type { TimeSliced } from "../time-slicing.ts";
import type { Translation } from "../translate/translation.ts";
import type { Translator } from "../translate/translator.ts";
import { type ClusterState, copyClusterState } from "../watch/cluster-state.ts";
import { type Batches, type HeldBack, withHeldBack } from "./batches.ts";
import { buildSnapshotSliced, emptyBuild, type SnapshotBuild, type SnapshotBuildResult } from "./build-snapshot.ts";
import { type PendingChallenges, withChallenges } from "./challenges.ts";

export interface PreparedDocument extends Pick<Translation, "problems" | "owners"> {
  readonly built: SnapshotBuild;
  readonly invalidListeners: SnapshotBuildResult["invalidListeners"];
  /** All resources as of the start of the translation. */
  readonly resources: ClusterState;
  /** `refKey`s of all resources that may differ from the last result; null: all of them. */
  readonly changed: ReadonlySet<string> | null;
  /** Milliseconds until an unchanged state has to be checked again; null: not before it changes. */
  readonly recheckAfter: number | null;
}

export interface DocumentPreparerOptions {
  readonly clusterState: ClusterState;
  readonly batches: Batches;
  readonly translator: Translator;
  /** Returns the listeners of the document by name, as they are now. */
  readonly listeners: () => SnapshotBuild["listeners"];
  /** Returns the challenges of certificate orders, as they are now. */
  readonly challenges: () => PendingChallenges;
}

export function createDocumentPreparer(options: DocumentPreparerOptions) {
  const { clusterState, batches, translator, listeners, challenges } = options;
  let built = emptyBuild;
  /** `refKey`s of resources that batches held back or reported in the last translation. */
  let inBatches: ReadonlySet<string> = new Set();

  /**
   * Only one preparation may run at a time. Changes after its first step go into the next one.
   *
   * @param changed `refKey`s of resources in which more than status and bookkeeping changed since the last completed
   * preparation was started; null: unknown.
   */
  return function* prepare(changed: ReadonlySet<string> | null): TimeSliced<PreparedDocument> {
    // A translation may take several turns of the event loop, during which resources may change.
    const resources = copyClusterState(clusterState);
    const [currentListeners, currentChallenges] = [listeners(), challenges()];
    const held = batches.holdBack(resources);
    const mayDiffer = changed?.union(inBatches).union(keysOf(held)) ?? null;
    const translated =
      (mayDiffer && (yield* translator.translateIncremental(held.clusterState, mayDiffer))) ??
      (yield* translator.translateAll(held.clusterState));
    const translation = withHeldBack(translated, held);
    const items = withChallenges(translation.items, currentChallenges);
    const result = yield* buildSnapshotSliced(built, { ...translation, items, listeners: currentListeners });
    built = result.built;
    inBatches = keysOf(held);
    return {
      built,
      problems: mergeProblems(translation.problems, result.problems),
      invalidListeners: result.invalidListeners,
      owners: translation.owners,
      resources,
      changed: mayDiffer,
      recheckAfter: held.recheckAfter,
    };
  };
}

const keysOf = ({ held, problems }: HeldBack): ReadonlySet<string> => new Set([...held, ...problems.keys()]);

function mergeProblems(
  one: Translation["problems"],
  other: ReadonlyMap<string, readonly Problem[]>,
): Translation["problems"] {
  return one.with([...other].map(([key, list]) => [key, [...(one.get(key) ?? []), ...list]] as const));
}
