/**
 * The operator's loop: from the world to a published document and back to conditions. It reacts to state, not to
 * events: whatever happened, it translates what is there now, so that a restart gives the same result.
 */
import { type Kind, keyOf, type Resource, type ResourceCache } from "@sluice/crds";
import { BucketMap, byHash, differences, type WaitAnswer } from "@sluice/model";
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
  /** What has to be read before anything is published and was not yet. */
  readonly unsynced: () => readonly string[];
  /** While another operator leads, everything is translated and nothing is written or told. */
  readonly leads: () => boolean;
  readonly log: Logger;
  readonly onReconcile: (seconds: number) => void;
  readonly work: WorkQueueMetrics;
  /** The document or what the nodes run has changed. */
  readonly onProgress: () => void;
}

export interface Reconciler {
  /**
   * The resource (`namespace/name`) is another object now, or gone. What that means is looked at after `touch`.
   *
   * @param meaningful False: it means the same as before. Somebody has written its status.
   */
  markDirty(kind: WatchedKind, key: string, meaningful: boolean): void;
  /** Something changed: translate and publish soon, at once when idle. Many calls until then are one. */
  schedule(): void;
  /** What the nodes run changed, or a status was written by somebody: look at what that makes different. */
  syncStatuses(): void;
  /** Look at these statuses, which could not be written, as far as they have not settled. */
  retryStatuses(keys: readonly string[]): void;
  /** We lead from now on: what the one before us did not come to is written and told. */
  startLeading(): void;
  /** Whether the published document contains all that the world holds. */
  upToDate(): boolean;
  problemsOf(kind: Kind, namespace: string, name: string): WaitAnswer["problems"];
  problemCount(): number;
  /** Resources that have changed and are not looked at yet. */
  queuedCount(): number;
  /** A status has been written: others may follow. */
  continueStatuses(): void;
  /** Resources whose statuses wait to be looked at. */
  queuedStatuses(): number;
  close(): void;
}

/** Milliseconds between looks at statuses that were written and have not been seen again. */
const RESYNC_INTERVAL = 10_000;
/** Milliseconds until the next look while it is too early to speak of waiting. */
const PENDING_RECHECK_INTERVAL = 1000;
/**
 * After a reconcile that stood for several changes the next one waits so many times as long as that took, so that many
 * changes that come at once share one: some need a look at all resources. Who makes one change after the other never
 * waits.
 */
const MAX_REST_FACTOR = 4;
/** For each change more than one. */
const REST_FACTOR_PER_CHANGE = 2;
/** Milliseconds of such a wait at the most. */
const MAX_REST = 250;

/** Statuses of more resources than these, all translated at once, give way to those of what changes. */
const BULK_THRESHOLD = 500;
/** Milliseconds after a change in which they do. */
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
  /** `ownerKey`s of what means something else than when the last translation was begun. */
  let changed = new Set<string>();
  /** Whether the last translation came to its end: else it is not known what has changed since. */
  let isLastComplete = false;
  /** How often something has changed, and how often it had when what is published now was begun. */
  let changeCount = 0;
  let publishedCount = -1;
  let isWorking = false;
  let closed = false;
  let scheduled: Disposable | undefined;
  let restsUntil = 0;
  /** How often something had changed when the last reconcile was begun. */
  let startedCount = 0;
  let changedAt = Number.NEGATIVE_INFINITY;
  let scheduledAt = 0;
  let statusTimer: NodeJS.Timeout | undefined;
  let nextStatusTurn: NodeJS.Immediate | undefined;
  let recheckTimer: NodeJS.Timeout | undefined;
  let loggedUnsynced = "";

  const resync = setInterval(syncAllStatuses, RESYNC_INTERVAL).unref();

  const isDirty = () => publishedCount !== changeCount;

  /** A problem that nobody was told of yet. */
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

  /** The resource as it was translated is not to be had any more: what stands in its place is in no document yet. */
  const isSuperseded = (key: string, resource: Resource, { kind, namespace, name }: Owner): boolean =>
    changed.has(key) && cache.resources[kind].get(keyOf(namespace, name)) === resource;

  /** The place of resources in what was published; the statuses of those for which that is news are opened. */
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
    // What comes from here on is for the next time; should this fail, that starts from nothing.
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

  /** Looks at statuses, so many in a turn that others have theirs. */
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
    work.began((started - scheduledAt) / 1000);
    let result: "success" | "error" = "success";
    try {
      await reconcile();
    } catch (error) {
      result = "error";
      // A bug of ours: what was published stays, and the next change tries again.
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
      // Else all statuses that were written lately would be translated with the next change.
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
