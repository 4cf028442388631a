/**
 * Third stage: translates the cluster state into a checked document. It is level-triggered: it translates the current
 * state, whatever the events were, so that a restart gives the same result.
 */
import { isSluiceKind, parseRefKey } from "@sluice/crds";
import type { Logger } from "pino";
import { createEmitter, type Output } from "../emitter.ts";
import type { OperatorGauges, OperatorMetrics } from "../metrics.ts";
import type { LastValidVersions } from "../saved-state/last-valid-versions.ts";
import type { PublishGate } from "../saved-state/publish-gate.ts";
import type { StateReader } from "../saved-state/state-reader.ts";
import type { OperatorSettings } from "../settings.ts";
import { runTimeSliced } from "../time-slicing.ts";
import { createTranslator } from "../translate/translator.ts";
import type { ClusterChange, WatchStage } from "../watch/watch-stage.ts";
import { createBatches } from "./batches.ts";
import { createDocumentPreparer, type DocumentPreparerOptions, type PreparedDocument } from "./document-preparer.ts";

export interface TranslatedDocument extends PreparedDocument {
  /** Whether this is the first document since this process started. */
  readonly isFirst: boolean;
  /** `refKey`s of resources that changed after this translation was started. */
  readonly changedSince: ReadonlySet<string>;
  /** When the translation was started, by `performance.now`. */
  readonly startedAt: number;
}

export interface TranslateStage {
  readonly documents: Output<TranslatedDocument>;
  /** The unread kinds, and `saved state` if that is unread too; nothing is translated until there are none. */
  unsynced(): readonly string[];
  /** Whether the last document lacks changes of the cluster state. */
  isDirty(): boolean;
  /** Whether the last document contains the complete cluster state. */
  isUpToDate(): boolean;
  /** Whether more than a second has passed since a translation was last requested. */
  isIdle(): boolean;
  readonly gauges: Pick<OperatorGauges, "document">;
  close(): void;
}

export interface TranslateStageOptions {
  readonly watch: Pick<WatchStage, "clusterState" | "classes" | "changes" | "unsynced">;
  readonly savedState: Pick<StateReader, "isRead" | "restored">;
  readonly gate: Omit<PublishGate, "term" | "terms">;
  readonly lastValid: LastValidVersions;
  /** Returns the listeners of the document by name. A change of them is announced by `watch.changes`. Default: none. */
  readonly listeners?: DocumentPreparerOptions["listeners"];
  /** The challenges of certificate orders. Default: none. */
  readonly orders?: {
    readonly challenges: DocumentPreparerOptions["challenges"];
    readonly changes: Output<void>;
  };
  readonly settings: Pick<OperatorSettings, "class" | "homeNamespace">;
  readonly metrics: Pick<OperatorMetrics, "work">;
  readonly log: Logger;
}

/**
 * After a translation for several changes, the next translation is delayed by the time that the last one took, times a
 * factor, so that changes that arrive together share one translation, even a full one. This is the maximum of the
 * factor. A translation for a single change causes no delay.
 */
const MAX_REST_FACTOR = 4;
/** Added to the factor for each change after the first. */
const REST_FACTOR_PER_CHANGE = 2;
/** Maximum milliseconds of the delay after a translation. */
const MAX_REST = 250;
/** Milliseconds after a change until the stage counts as idle. */
const IDLE_AFTER = 1000;

export function createTranslateStage(options: TranslateStageOptions): TranslateStage {
  const { watch, savedState, gate, lastValid, settings, metrics, log, listeners = () => new Map(), orders } = options;
  const { clusterState, classes } = watch;
  const { classOf } = classes;
  const work = metrics.work.document;
  const documents = createEmitter<TranslatedDocument>();
  const batches = createBatches({ class: settings.class, classOf });
  const translator = createTranslator({
    homeNamespace: settings.homeNamespace,
    class: settings.class,
    classOf,
    lastValid,
  });
  const prepareDocument = createDocumentPreparer({
    clusterState,
    batches,
    translator,
    listeners,
    challenges: orders?.challenges ?? (() => new Map()),
  });
  /**
   * `refKey`s of resources in which more than status and bookkeeping changed since the last translation was started.
   */
  let changed = new Set<string>();
  /** Whether the last translation completed: otherwise it is unknown what has changed since. */
  let isLastComplete = false;
  /** The number of changes so far. */
  let changeCount = 0;
  /** `changeCount` when the translation of the last document was started; -1: there is no document. */
  let translatedCount = -1;
  let isWorking = false;
  let closed = false;
  let scheduled: Disposable | undefined;
  let restsUntil = 0;
  let startedCount = 0;
  let changedAt = Number.NEGATIVE_INFINITY;
  let scheduledAt = 0;
  let recheckTimer: NodeJS.Timeout | undefined;
  let loggedUnsynced = "";

  const isDirty = () => translatedCount !== changeCount;
  const unsynced = () => [...watch.unsynced(), ...(savedState.isRead() ? [] : ["saved state"])];

  watch.changes.subscribe(({ resources, versions, isMeaningful }: ClusterChange) => {
    for (const { kind, key, isMeaningful } of resources) {
      const name = `${kind}/${key}`;
      lastValid.refresh(name, clusterState[kind].get(key));
      // A status write does not count: otherwise the next change would translate each resource with a new status.
      if (isMeaningful) changed.add(name);
    }
    for (const { kind, before, resource } of versions) batches.observe(kind, before, resource);
    if (isMeaningful) schedule();
  });

  orders?.changes.subscribe(schedule);

  savedState.restored.subscribe((resources) => {
    const restored = lastValid.restore(resources ?? new Map(), (key) => {
      const { kind, key: name } = parseRefKey(key);
      return isSluiceKind(kind) ? clusterState[kind].get(name) : undefined;
    });
    for (const key of restored) if (isSluiceKind(parseRefKey(key).kind)) changed.add(key);
    gate.stateRestored(restored.size > 0);
    schedule();
  });

  /** Schedules a translation; one in progress ends first. Further calls before the scheduled one starts are merged. */
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
    gate.translationStarted();
    let result: "success" | "error" = "success";
    try {
      if (isSynced()) await translate();
    } catch (error) {
      result = "error";
      // A bug in the operator: the published document stays, and the next change starts another attempt.
      log.error({ err: error }, "cannot translate the resources");
    }
    const ended = performance.now();
    work.ended((ended - started) / 1000, result);
    if (result === "error") gate.translationFailed();
    restsUntil = ended + Math.min(restFactor * (ended - started), MAX_REST);
    isWorking = false;
    if (changeCount > upTo) scheduleRun();
  }

  /** Whether everything has been read. Logs what is missing whenever that changes. */
  function isSynced(): boolean {
    const missing = unsynced();
    const names = missing.join(", ");
    if (missing.length > 0 && names !== loggedUnsynced)
      log.info({ kinds: missing }, "waiting until these kinds have been read");
    loggedUnsynced = names;
    return missing.length === 0;
  }

  async function translate(): Promise<void> {
    const startedAt = performance.now();
    const [known, upTo] = [isLastComplete ? changed : null, changeCount];
    // Later changes go into the next translation; if this one fails, the next one translates everything.
    changed = new Set();
    isLastComplete = false;
    const prepared = await runTimeSliced(prepareDocument(known));
    isLastComplete = true;
    if (closed) return;
    clearTimeout(recheckTimer);
    if (prepared.recheckAfter !== null) recheckTimer = setTimeout(schedule, prepared.recheckAfter).unref();
    const isFirst = translatedCount < 0;
    translatedCount = upTo;
    documents.emit({ ...prepared, isFirst, changedSince: changed, startedAt });
    gate.translationPublished();
  }

  return {
    documents,
    unsynced,
    isDirty,
    isUpToDate: () => !isDirty() && unsynced().length === 0,
    isIdle: () => performance.now() - changedAt > IDLE_AFTER,
    gauges: { document: { queued: () => (isDirty() ? Math.max(1, changed.size) : 0), workers: 1 } },
    close() {
      closed = true;
      clearTimeout(recheckTimer);
      scheduled?.[Symbol.dispose]();
    },
  };
}
