/**
 * The operator's reconcile loop: from the cluster state to a published document and back to conditions. It is
 * level-triggered: it translates the current state, whatever the events were, so that a restart gives the same result.
 */
import { type Kind, keyOf, type Resource, type ResourceCache } from "@sluice/crds";
import { BucketMap, byHash, differences, type WaitResponse } from "@sluice/model";
import type { Logger } from "pino";
import type { Publisher } from "../publish/publisher.ts";
import type { Problem } from "../status/conditions.ts";
import type { EventRecorder } from "../status/event-recorder.ts";
import { createProgrammedTracker, type PublishedAt } from "../status/programmed-tracker.ts";
import { createStatusSync } from "../status/status-sync.ts";
import type { StatusWriter } from "../status/status-writer.ts";
import { runTimeSliced } from "../time-slicing.ts";
import { type Owner, ownerKey, type Translation } from "../translate/translation.ts";
import type { Translator } from "../translate/translator.ts";
import type { WatchedKind } from "../watch/cluster-state.ts";
import type { WorkQueueMetrics } from "../work-metrics.ts";
import type { Batches } from "./batches.ts";
import type { SnapshotBuild } from "./build-snapshot.ts";
import { createDocumentPreparer, type PreparedDocument } from "./document-preparer.ts";

export interface ReconcilerOptions {
  readonly cache: ResourceCache<WatchedKind>;
  readonly batches: Batches;
  readonly translator: Translator;
  readonly empty: SnapshotBuild;
  readonly publisher: Publisher;
  readonly writer: StatusWriter;
  readonly events: EventRecorder;
  /** Kinds and state that must be read before the first publication, and were not yet. */
  readonly unsynced: () => readonly string[];
  /** While another operator leads, this one translates, and writes and records nothing. */
  readonly leads: () => boolean;
  readonly log: Logger;
  readonly onReconcile: (seconds: number) => void;
  readonly work: WorkQueueMetrics;
  /** The document or the nodes' acknowledgements changed. */
  readonly onProgress: () => void;
}

export interface Reconciler {
  /**
   * Records that the resource (`namespace/name`) was changed or deleted. It is translated after `schedule`.
   *
   * @param meaningful False: its meaning is unchanged, for example after a status write.
   */
  markDirty(kind: WatchedKind, key: string, meaningful: boolean): void;
  /** Schedules a reconcile, at once when idle. Calls until it starts are merged. */
  schedule(): void;
  /** The nodes' acknowledgements or a status changed: updates the affected conditions. */
  syncStatuses(): void;
  /** Retries these statuses, whose writes failed, as far as they have not settled. */
  retryStatuses(keys: readonly string[]): void;
  /** This operator leads from now on: it writes and records what the previous leader did not get to. */
  startLeading(): void;
  /** Whether the published document contains the complete cluster state. */
  upToDate(): boolean;
  problemsOf(kind: Kind, namespace: string, name: string): WaitResponse["problems"];
  problemCount(): number;
  /** Number of changed resources not translated yet. */
  queuedCount(): number;
  /** A status write has ended: others may follow. */
  continueStatuses(): void;
  /** Number of resources whose statuses are queued. */
  queuedStatuses(): number;
  close(): void;
}

/** Milliseconds between retries of statuses that were written and not read back. */
const RESYNC_INTERVAL = 10_000;
/** Milliseconds until the next sync while it is too early to report waiting. */
const PENDING_RECHECK_INTERVAL = 1000;
/**
 * After a reconcile for several changes, the next one is delayed by a multiple of its duration, so that changes that
 * arrive together share one: some need a full translation. Changes made one after the other are never delayed.
 */
const MAX_REST_FACTOR = 4;
/** Added to the multiple for each change after the first. */
const REST_FACTOR_PER_CHANGE = 2;
/** Maximum milliseconds of this delay. */
const MAX_REST = 250;

/** When more resources than this are translated at once, their statuses give way to those of later changes. */
const BULK_THRESHOLD = 500;
/** Milliseconds after a change during which they do. */
const IDLE_AFTER = 1000;

export function createReconciler(options: ReconcilerOptions): Reconciler {
  const { cache, publisher, writer, events, unsynced, leads, log, onReconcile, work, onProgress } = options;
  const programmed = createProgrammedTracker();
  const statusSync = createStatusSync({
    clusterState: cache.resources,
    programmed,
    publisher,
    writer,
    isIdle: () => performance.now() - changedAt > IDLE_AFTER,
  });
  const prepareDocument = createDocumentPreparer({ ...options, resources: cache.resources });
  let problems: Translation["problems"] = new BucketMap<readonly Problem[]>(byHash);
  let owners: Translation["owners"] = new BucketMap<Owner>(byHash);
  /** `ownerKey`s of resources whose meaning changed since the last translation was started. */
  let changed = new Set<string>();
  /** Whether the last translation completed: otherwise it is unknown what has changed since. */
  let isLastComplete = false;
  /** The number of changes so far, and the number when the published document was started. */
  let changeCount = 0;
  let publishedCount = -1;
  let isWorking = false;
  let closed = false;
  let scheduled: Disposable | undefined;
  let restsUntil = 0;
  /** The number of changes when the last reconcile was started. */
  let startedCount = 0;
  let changedAt = Number.NEGATIVE_INFINITY;
  let scheduledAt = 0;
  let statusTimer: NodeJS.Timeout | undefined;
  let nextStatusTurn: NodeJS.Immediate | undefined;
  let recheckTimer: NodeJS.Timeout | undefined;
  let loggedUnsynced = "";

  const resync = setInterval(syncAllStatuses, RESYNC_INTERVAL).unref();

  const isDirty = () => publishedCount !== changeCount;

  /** Records problems that were not reported yet. */
  function recordNewProblems(
    owner: Owner,
    resource: Resource,
    before: readonly Problem[],
    after: readonly Problem[],
  ): void {
    if (!leads()) return;
    for (const problem of after) {
      const { condition, message } = problem;
      if (before.some((known) => known.message === message)) continue;
      const said = resource.status?.conditions?.some(
        (known) => known.type === condition && known.message.includes(message),
      );
      if (!said) events.record(owner, problem);
    }
  }

  interface Before {
    readonly problems: Translation["problems"];
    readonly owners: Translation["owners"];
  }

  /** Whether the resource changed after it was translated: its current version is in no document yet. */
  const isSuperseded = (key: string, resource: Resource, { kind, namespace, name }: Owner): boolean =>
    changed.has(key) && cache.resources[kind].get(keyOf(namespace, name)) === resource;

  /** Records the published revision of each resource, and marks the statuses of resources for which it is new. */
  function recordPublished(before: Before, { resources, changed: known }: PreparedDocument, place: PublishedAt): void {
    const many = known === null && owners.size > BULK_THRESHOLD;
    for (const { key, after } of differences(before.owners, owners)) if (!after) programmed.forget(key);
    const others = differences(before.problems, problems).map(({ key }) => key);
    for (const key of known ? new Set([...known, ...others]) : owners.keys()) {
      const owner = owners.get(key);
      const resource = owner && resources[owner.kind].get(keyOf(owner.namespace, owner.name));
      if (!resource) continue;
      const own = problems.get(key) ?? [];
      if (!isSuperseded(key, resource, owner)) {
        if (!programmed.recordPublished(key, resource, own, place)) continue;
        statusSync.markDirty(key, { many });
      }
      recordNewProblems(owner, resource, before.problems.get(key) ?? [], own);
    }
  }

  async function reconcile(): Promise<void> {
    const missing = unsynced();
    if (missing.length > 0) {
      const names = missing.join(", ");
      if (names !== loggedUnsynced) log.info({ kinds: missing }, "not publishing before these have been read");
      loggedUnsynced = names;
      return;
    }
    loggedUnsynced = "";
    const started = performance.now();
    const [known, upTo] = [isLastComplete ? changed : null, changeCount];
    // Later changes go into the next reconcile; if this one fails, the next one translates everything.
    changed = new Set();
    isLastComplete = false;
    const made = await runTimeSliced(prepareDocument(known));
    isLastComplete = true;
    if (closed) return;
    clearTimeout(recheckTimer);
    if (made.recheckAfter !== null) recheckTimer = setTimeout(schedule, made.recheckAfter).unref();
    const before = { problems, owners };
    ({ problems, owners } = made);
    const isFirst = publishedCount < 0;
    publishedCount = upTo;
    const last = publisher.revision();
    const revision = publisher.publish(made.built.snapshot);
    recordPublished(before, made, { revision, isFirst });
    const seconds = (performance.now() - started) / 1000;
    onReconcile(seconds);
    if (revision !== last) log.debug({ revision, hash: made.built.snapshot.hash, seconds }, "published a document");
    syncStatuses();
  }

  function syncStatuses(): void {
    if (closed) return;
    onProgress();
    syncQueuedStatuses();
  }

  /** Syncs queued statuses, a limited number per turn of the event loop. */
  function syncQueuedStatuses(): void {
    clearImmediate(nextStatusTurn);
    nextStatusTurn = undefined;
    if (closed || isDirty() || !leads()) return;
    const { tooEarly, hasMore } = statusSync.sync(owners, problems);
    if (tooEarly) statusTimer ??= setTimeout(syncAllStatuses, PENDING_RECHECK_INTERVAL).unref();
    if (hasMore) nextStatusTurn = setImmediate(syncQueuedStatuses);
  }

  function syncAllStatuses(): void {
    clearTimeout(statusTimer);
    statusTimer = undefined;
    statusSync.retryAll();
    syncStatuses();
  }

  function schedule(): void {
    changeCount++;
    changedAt = performance.now();
    if (!isWorking) scheduleRun();
  }

  function scheduleRun(): void {
    if (scheduled || closed) return;
    scheduledAt = performance.now();
    work.added();
    const wait = restsUntil - performance.now();
    scheduled = wait > 0 ? setTimeout(run, wait) : setImmediate(run);
  }

  async function run(): Promise<void> {
    scheduled = undefined;
    isWorking = true;
    const upTo = changeCount;
    const restFactor = Math.min(REST_FACTOR_PER_CHANGE * (changeCount - startedCount - 1), MAX_REST_FACTOR);
    startedCount = upTo;
    const started = performance.now();
    work.started((started - scheduledAt) / 1000);
    let result: "success" | "error" = "success";
    try {
      await reconcile();
    } catch (error) {
      result = "error";
      // A bug in the operator: the published document stays, and the next change tries again.
      log.error({ err: error }, "cannot translate the resources");
    }
    const ended = performance.now();
    work.ended((ended - started) / 1000, result);
    restsUntil = ended + Math.min(restFactor * (ended - started), MAX_REST);
    isWorking = false;
    if (changeCount > upTo) scheduleRun();
  }

  return {
    markDirty(kind, key, meaningful) {
      const name = `${kind}/${key}`;
      // Otherwise the next change would translate every resource whose status was just written.
      if (meaningful) changed.add(name);
      if (owners.has(name)) statusSync.markDirty(name);
    },
    schedule,
    syncStatuses,
    retryStatuses(keys) {
      statusSync.retry(keys);
      syncStatuses();
    },
    startLeading() {
      for (const [key, own] of problems) {
        const owner = owners.get(key);
        const resource = owner && cache.resources[owner.kind].get(keyOf(owner.namespace, owner.name));
        if (resource) recordNewProblems(owner, resource, [], own);
      }
      syncAllStatuses();
    },
    upToDate: () => !isDirty() && unsynced().length === 0,
    problemsOf(kind, namespace, name) {
      const own = problems.get(ownerKey({ kind, namespace, name })) ?? [];
      return own.map(({ reason, message }) => ({ kind, namespace, name, reason, message }));
    },
    problemCount: () => problems.size,
    queuedCount: () => (isDirty() ? Math.max(1, changed.size) : 0),
    continueStatuses: syncQueuedStatuses,
    queuedStatuses: statusSync.queuedCount,
    close() {
      closed = true;
      clearInterval(resync);
      clearTimeout(statusTimer);
      clearTimeout(recheckTimer);
      clearImmediate(nextStatusTurn);
      scheduled?.[Symbol.dispose]();
    },
  };
}
