/**
 * Records revisions of the custom resources while this operator leads. It is level-triggered: it compares the cluster
 * state with the state at the last record, and the two share all unchanged resources. A record follows a change after
 * some time, so it delays no push, and changes that are made together share one revision.
 */
import { encodeChanges, type RevisionStorage, type RevisionSummary } from "@sluice/crds";
import type { Logger } from "pino";
import { awaitLastWrite } from "../abortable-delay.ts";
import type { Leadership } from "../leader-election/leader-election.ts";
import type { OperatorMetrics } from "../metrics.ts";
import type { OperatorSettings } from "../settings.ts";
import { runTimeSliced } from "../time-slicing.ts";
import { copyClusterState } from "../watch/cluster-state.ts";
import type { WatchStage } from "../watch/watch-stage.ts";
import { type AuthoredChanges, type CustomResources, findAuthoredChanges, stateDigest } from "./authored-changes.ts";
import { type RevisionAuthors, UNKNOWN_AUTHOR } from "./authors.ts";

export interface RevisionRecorderOptions {
  readonly storage: RevisionStorage;
  readonly watch: Pick<WatchStage, "clusterState" | "changes" | "isOwn" | "unsynced">;
  readonly leadership: Pick<Leadership, "term" | "terms">;
  readonly settings: Pick<OperatorSettings, "revisions" | "revisionsAge">;
  readonly authorOf: RevisionAuthors["authorOf"];
  readonly metrics: Pick<OperatorMetrics, "recordedRevision">;
  readonly log: Pick<Logger, "warn">;
  /** Milliseconds from a change to its record. Default 1000. */
  readonly delay?: number;
}

/** The author of the first revision, which has no changes. */
const FIRST_AUTHOR = "sluice-operator";

/** Milliseconds. A change within this time after a record doubles the delay of the next record, up to the maximum. */
const PAUSE = 2000;
const MAX_DELAY = 30_000;

/** The state that results from all revisions so far. */
interface Recorded {
  readonly resources: CustomResources;
  readonly digest: bigint;
}

/** Changes that are not recorded yet; `changes` is null if they are unknown. */
type Unrecorded = Pick<AuthoredChanges, "author" | "digest"> & { readonly changes: AuthoredChanges["changes"] | null };

export function createRevisionRecorder(options: RevisionRecorderOptions) {
  const { storage, watch, leadership, settings, authorOf, metrics, log, delay: minimum = 1000 } = options;
  const { isOwn } = watch;
  /** The revisions in the storage, oldest first; null: not read yet in this term. */
  let kept: RevisionSummary[] | null = null;
  /** Null: unknown, because this operator has just begun to lead. */
  let recorded: Recorded | null = null;
  let unrecorded: Unrecorded[] = [];
  let isChanged = true;
  let timer: NodeJS.Timeout | undefined;
  let working: Promise<void> | undefined;
  let delay = minimum;
  let endedAt = Number.NEGATIVE_INFINITY;
  let isClosing = false;

  leadership.terms.subscribe(() => {
    [kept, recorded, unrecorded] = [null, null, []];
    markChanged();
  });
  watch.changes.subscribe(({ isMeaningful }) => {
    if (isMeaningful) markChanged();
  });

  function markChanged(): void {
    isChanged = true;
    if (timer || working || isClosing || leadership.term() === null) return;
    delay = performance.now() - endedAt < PAUSE ? Math.min(delay * 2, MAX_DELAY) : minimum;
    timer = setTimeout(() => {
      timer = undefined;
      void run();
    }, delay).unref();
  }

  async function run(): Promise<void> {
    working = record();
    const isDone = await working.then(
      () => true,
      (error: Error) => {
        metrics.recordedRevision("failed");
        log.warn({ reason: error.message }, "a revision of the resources cannot be recorded, trying again");
        // Another operator may have added a revision.
        kept = null;
        return false;
      },
    );
    working = undefined;
    endedAt = performance.now();
    if (isChanged || !isDone) markChanged();
  }

  /** Does nothing unless this operator leads and has read all resources. */
  async function record(): Promise<void> {
    const term = leadership.term();
    if (term === null || watch.unsynced().length > 0) return;
    kept ??= [...(await storage.list())];
    if (unrecorded.length === 0) {
      isChanged = false;
      await findChanges(kept.at(-1));
    }
    for (let next = unrecorded[0]; next && leadership.term() === term; next = unrecorded[0]) {
      await add(next, kept);
      unrecorded.shift();
    }
    await removeOld(kept);
  }

  async function findChanges(newest: RevisionSummary | undefined): Promise<void> {
    const term = leadership.term();
    const resources = copyClusterState(watch.clusterState);
    const found = recorded
      ? await runTimeSliced(findAuthoredChanges(recorded.resources, resources, { ...recorded, isOwn, authorOf }))
      : startOf(await runTimeSliced(stateDigest(resources, isOwn)), newest);
    if (leadership.term() !== term) return;
    unrecorded = [...found.authored];
    recorded = { resources, digest: found.digest };
  }

  async function add({ author, digest, changes }: Unrecorded, kept: RevisionSummary[]): Promise<void> {
    const content = changes && (await encodeChanges(changes));
    const number = (kept.at(-1)?.number ?? 0) + 1;
    const counts = changes && content && countsOf(changes);
    const summary = { number, time: Date.now(), author, counts, state: textOf(digest) };
    if (!(await storage.add(summary, content ?? Buffer.alloc(0))))
      throw new Error(`another operator has recorded revision ${number}`);
    kept.push(summary);
    metrics.recordedRevision("written");
  }

  async function removeOld(kept: RevisionSummary[]): Promise<void> {
    const since = Date.now() - settings.revisionsAge;
    for (let [oldest] = kept; oldest && kept.length > 1; [oldest] = kept) {
      if (kept.length <= settings.revisions && oldest.time > since) return;
      await storage.remove(oldest.number);
      kept.shift();
    }
  }

  /** Stops the timer, and records outstanding changes. */
  async function finish(): Promise<void> {
    clearTimeout(timer);
    timer = undefined;
    await working?.catch(() => {});
    await run();
  }

  return {
    flush: finish,
    /** Records outstanding changes if the storage responds in time, and closes the storage. */
    async close() {
      isClosing = true;
      if (recorded) await awaitLastWrite(finish());
      clearTimeout(timer);
      await storage.close();
    },
  };
}

/** The first record of an operator that begins to lead; it is empty if the newest revision has the same state. */
function startOf(digest: bigint, newest: RevisionSummary | undefined) {
  const authored: readonly Unrecorded[] = newest
    ? [{ author: UNKNOWN_AUTHOR, digest, changes: null }]
    : [{ author: FIRST_AUTHOR, digest, changes: [] }];
  return { authored: newest?.state === textOf(digest) ? [] : authored, digest };
}

const textOf = (digest: bigint): string => digest.toString(16).padStart(16, "0");

function countsOf(changes: AuthoredChanges["changes"]): NonNullable<RevisionSummary["counts"]> {
  const created = changes.filter(({ before }) => before === null).length;
  const deleted = changes.filter(({ after }) => after === null).length;
  return { created, changed: changes.length - created - deleted, deleted };
}
