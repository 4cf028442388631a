/** Last stage: writes conditions and Events, and answers the waits of the admin API. */
import { isDerivedName, type Kind, namespacedName, type Resource, type ResourceClient, refKey } from "@sluice/crds";
import { BucketMap, bucketDifferences, hashOfText, type WaitResponse } from "@sluice/model";
import type { Logger } from "pino";
import type { AcmeStage } from "../acme/acme-stage.ts";
import type { DeriveStage } from "../derive/derive-stage.ts";
import type { TranslateStage } from "../document/translate-stage.ts";
import type { Leadership } from "../leader-election/leader-election.ts";
import type { OperatorGauges, OperatorMetrics } from "../metrics.ts";
import type { PublishedDocument, PublishStage } from "../publish/publish-stage.ts";
import type { PublishGate } from "../saved-state/publish-gate.ts";
import type { OperatorSettings } from "../settings.ts";
import { readsAllNamespaces } from "../start-checks.ts";
import type { Owner, Translation } from "../translate/translation.ts";
import type { WatchStage } from "../watch/watch-stage.ts";
import { obstaclesOf, PLUGIN_MISSING, type Problem, REFERENCE_NOT_SERVED } from "./conditions.ts";
import type { EventRecorder } from "./event-recorder.ts";
import { createProgrammedTracker } from "./programmed-tracker.ts";
import { createProgrammedWaiters, type ProgrammedWaiters } from "./programmed-waiters.ts";
import { createStatusSync, missingPluginMessage } from "./status-sync.ts";
import { createStatusWriter, PARALLEL_STATUS_WRITES } from "./status-writer.ts";
import { createUnservedClasses } from "./unserved-classes.ts";

export interface StatusStageOptions {
  readonly watch: Pick<WatchStage, "clusterState" | "classes" | "changes">;
  /** The states of certificate orders. `changes`, if present, emits the `refKey`s of Certificates. */
  readonly acme?: Pick<AcmeStage, "conditionOf"> & Partial<Pick<AcmeStage, "changes">>;
  /** Default: no resource is derived. */
  readonly derive?: Pick<DeriveStage, "sourcesOf">;
  readonly translate: Pick<TranslateStage, "isDirty" | "isUpToDate" | "isIdle">;
  readonly publish: Pick<PublishStage, "progress" | "publisher">;
  readonly leadership: Pick<Leadership, "term" | "terms">;
  /** While the gate is closed, no status or Event of a translated resource is written. */
  readonly gate: Pick<PublishGate, "term" | "terms">;
  readonly client: Pick<ResourceClient, "setConditions">;
  readonly manager: string;
  readonly events: EventRecorder;
  readonly settings: Pick<OperatorSettings, "class" | "namespaces" | "namespaceSelector">;
  readonly metrics: Pick<OperatorMetrics, "wroteStatus" | "work">;
  readonly log: Logger;
}

export interface StatusStage {
  readonly waiters: Pick<ProgrammedWaiters, "wait" | "size">;
  readonly gauges: Pick<OperatorGauges, "problems" | "status">;
  /** Ends all waits, and waits a moment for the writes in progress. */
  close(): Promise<void>;
}

/** Milliseconds between syncs of all unsettled resources, such as resources whose written status was not read back. */
const RESYNC_INTERVAL = 10_000;
/** Milliseconds until the next sync when it is too early to report resources as waiting. */
const PENDING_RECHECK_INTERVAL = 1000;
/** If a full translation has more resources than this, statuses of resources that change after it are written first. */
const BULK_THRESHOLD = 500;

type Content = Pick<Translation, "owners" | "problems">;

export function createStatusStage(options: StatusStageOptions): StatusStage {
  const { watch, translate, publish, leadership, gate, client, manager, events, settings, metrics, log } = options;
  const { acme } = options;
  const { clusterState, classes } = watch;
  const { sourcesOf } = options.derive ?? { sourcesOf: () => [] };
  const { publisher } = publish;
  /** The owners and problems of the last published document. */
  let content: Content = {
    problems: new BucketMap<readonly Problem[]>(hashOfText),
    owners: new BucketMap<Owner>(hashOfText),
  };
  /** The result of `publisher.missingPlugins` at the last sync. */
  let lacking: ReadonlyMap<string, readonly string[]> = new Map();
  let closed = false;
  let statusTimer: NodeJS.Timeout | undefined;
  let syncTurn: NodeJS.Immediate | undefined;
  let nextQueueTurn: NodeJS.Immediate | undefined;

  const programmed = createProgrammedTracker();
  const writer = createStatusWriter({
    client,
    manager,
    log,
    onRetry(keys) {
      statusSync.retry(keys);
      sync();
    },
    onWriteFinished: syncQueued,
    onWrite: metrics.wroteStatus,
    work: metrics.work.status,
  });
  const { isIdle } = translate;
  const issued = acme && { issuedConditionOf: acme.conditionOf };
  const statusSync = createStatusSync({ clusterState, programmed, publisher, writer, isIdle, ...issued });
  const waiters = createProgrammedWaiters({
    clusterState,
    isUpToDate: translate.isUpToDate,
    revision: publisher.revision,
    acknowledgement: publisher.acknowledgement,
    problemsOf,
  });
  const unserved = createUnservedClasses({
    client,
    manager,
    recordEvent: events.record,
    clusterState,
    classes,
    // Only one operator reports resources of unserved classes: among the operators that read all namespaces, the one
    // whose class is first in alphabetical order.
    isReporter: () =>
      leadership.term() !== null &&
      readsAllNamespaces(settings) &&
      (classes.firstClusterWideClass() ?? settings.class) === settings.class,
    log,
  });
  const resync = setInterval(syncAll, RESYNC_INTERVAL).unref();

  watch.changes.subscribe(({ resources, isMeaningful, classesChanged }) => {
    for (const { kind, key } of resources) {
      const name = `${kind}/${key}`;
      if (content.owners.has(name)) statusSync.markDirty(name);
      unserved.check(kind, key);
    }
    if (classesChanged) unserved.checkAll();
    if (!isMeaningful) scheduleSync();
  });
  publish.progress.subscribe((published) => {
    if (!published) return scheduleSync();
    recordPublished(published);
    sync();
  });
  acme?.changes?.subscribe((key) => {
    if (!content.owners.has(key)) return;
    statusSync.markDirty(key);
    scheduleSync();
  });
  leadership.terms.subscribe(() => unserved.checkAll());
  gate.terms.subscribe((term) => {
    if (term === null) writer.cancelQueued();
    else startLeading();
  });

  /** Writes the statuses and records the Events that the previous leader left unwritten. */
  function startLeading(): void {
    for (const key of content.problems.keys()) {
      const owner = content.owners.get(key);
      const resource = owner && clusterState[owner.kind].get(namespacedName(owner.namespace, owner.name));
      if (resource) recordNewProblems(owner, resource);
    }
    syncAll();
  }

  /** Records problems that were not reported yet. Those of derived resources are recorded at their sources. */
  function recordNewProblems(owner: Owner, resource: Resource, before: readonly Problem[] = []): void {
    if (gate.term() === null) return;
    const isDerived = isDerivedName(owner.name);
    const places = isDerived ? sourcesOf(owner) : [owner];
    for (const problem of content.problems.get(refKey(owner)) ?? []) {
      const { condition, reason, message } = problem;
      // The problem of the derived resource that is not served is recorded too.
      if (isDerived && reason.endsWith(REFERENCE_NOT_SERVED)) continue;
      if (before.some((known) => known.message === message)) continue;
      const isReported = resource.status?.conditions?.some(
        (known) => known.type === condition && known.message.includes(message),
      );
      if (!isReported) for (const place of places) events.record(place, problem);
    }
  }

  /**
   * Records in which revision each resource was published, and marks as dirty every resource whose version or problems
   * are new.
   */
  function recordPublished({ document, revision }: PublishedDocument): void {
    const { owners, problems, resources, changed, changedSince, isFirst } = document;
    const before = content;
    content = { owners, problems };
    const many = changed === null && owners.size > BULK_THRESHOLD;
    for (const { key, after } of bucketDifferences(before.owners, owners)) if (!after) programmed.forget(key);
    const others = bucketDifferences(before.problems, problems).map(({ key }) => key);
    for (const key of changed ? new Set([...changed, ...others]) : owners.keys()) {
      const owner = owners.get(key);
      const place = owner && namespacedName(owner.namespace, owner.name);
      const resource = owner && place && resources[owner.kind].get(place);
      if (!resource) continue;
      // The resource changed after it was translated: its current version is in no document yet.
      const isSuperseded = changedSince.has(key) && clusterState[owner.kind].get(place) === resource;
      if (!isSuperseded) {
        if (!programmed.recordPublished(key, resource, problems.get(key) ?? [], { revision, isFirst })) continue;
        statusSync.markDirty(key, { many });
      }
      recordNewProblems(owner, resource, before.problems.get(key));
    }
  }

  /** Marks Plugins as dirty if the set of nodes without their plugin has changed. */
  function recheckMissingPlugins(): void {
    const missing = publisher.missingPlugins();
    const names = [...new Set([...missing.keys(), ...lacking.keys()])].filter(
      (name) => missing.get(name)?.join() !== lacking.get(name)?.join(),
    );
    lacking = missing;
    if (names.length === 0) return;
    for (const [key, { kind, namespace, name }] of content.owners) {
      const { spec } = (kind === "Plugin" && clusterState.Plugin.get(namespacedName(namespace, name))) || {};
      if (names.includes(String(spec?.plugin))) statusSync.markDirty(key);
    }
  }

  /** Syncs soon: several changes within one turn of the event loop share a sync. */
  function scheduleSync(): void {
    if (!closed) syncTurn ??= setImmediate(sync);
  }

  function sync(): void {
    clearImmediate(syncTurn);
    syncTurn = undefined;
    if (closed) return;
    recheckMissingPlugins();
    waiters.resolveReady();
    syncQueued();
  }

  /** Syncs queued statuses, a limited number per turn of the event loop. */
  function syncQueued(): void {
    clearImmediate(nextQueueTurn);
    nextQueueTurn = undefined;
    if (closed || translate.isDirty() || gate.term() === null) return;
    const { tooEarly, hasMore } = statusSync.sync(content.owners, content.problems);
    if (tooEarly) statusTimer ??= setTimeout(syncAll, PENDING_RECHECK_INTERVAL).unref();
    if (hasMore) nextQueueTurn = setImmediate(syncQueued);
  }

  function syncAll(): void {
    clearTimeout(statusTimer);
    statusTimer = undefined;
    statusSync.retryAll();
    sync();
  }

  function problemsOf(kind: Kind, namespace: string, name: string): WaitResponse["problems"] {
    const own = obstaclesOf(content.problems.get(refKey({ kind, namespace, name })) ?? []);
    const resource = kind === "Plugin" ? clusterState.Plugin.get(namespacedName(namespace, name)) : undefined;
    const missing = resource && missingPluginMessage(resource, lacking);
    const all = [...own, ...(missing === undefined ? [] : [{ reason: PLUGIN_MISSING, message: missing }])];
    return all.map(({ reason, message }) => ({ kind, namespace, name, reason, message }));
  }

  return {
    waiters,
    gauges: {
      problems: () => content.problems.size,
      status: { queued: () => writer.queuedCount() + statusSync.queuedCount(), workers: PARALLEL_STATUS_WRITES },
    },
    async close() {
      closed = true;
      clearInterval(resync);
      clearTimeout(statusTimer);
      clearImmediate(syncTurn);
      clearImmediate(nextQueueTurn);
      events.close();
      unserved.close();
      waiters.close();
      await writer.close();
    },
  };
}
