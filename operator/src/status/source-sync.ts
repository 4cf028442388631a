/**
 * Decides when the statuses of sources of derived resources have to be synced: after a document with their current
 * version was made, and again when every ready node serves it.
 */
import { Relation } from "@sluice/crds";
import type { TranslateStage } from "../document/translate-stage.ts";
import type { PublishStage } from "../publish/publish-stage.ts";
import type { PublishGate } from "../saved-state/publish-gate.ts";

export interface SourceSyncOptions {
  readonly translate: Pick<TranslateStage, "isUpToDate">;
  readonly publish: Pick<PublishStage, "progress" | "publisher">;
  readonly gate: Pick<PublishGate, "term" | "terms">;
  /** All sources; they are marked when this operator begins to lead. */
  readonly all: () => Iterable<string>;
  /** Called once a document with the current version of the source was made. */
  readonly onTranslated: (key: string) => void;
  /** Called once every ready node of the fleets of the source serves this document. */
  readonly onProgrammed: (key: string) => void;
  /** The fleets that serve a source. Undefined, also as a result: those of resources that belong to no Gateway. */
  readonly fleetsOf?: (key: string) => readonly string[] | undefined;
}

/** Milliseconds between syncs of sources whose status could not be written. */
const RESYNC_INTERVAL = 5000;
/**
 * The maximum number of calls in one turn of the event loop, so that the push of a large change need not wait for them.
 */
const MAX_PER_TURN = 100;
/**
 * Milliseconds for which the calls for more sources than that wait for the nodes to serve the document: the writes of
 * statuses take CPU time of the API server, which may run on the same machines as the nodes.
 */
const MAX_HOLD = 1000;

const none: ReadonlySet<string> = new Set();

interface FleetWait {
  readonly revision: number;
  readonly fleets: readonly string[] | undefined;
}

export function createSourceSync({ translate, publish, gate, all, ...callbacks }: SourceSyncOptions) {
  const { publisher } = publish;
  /** The sources whose current version may not be in a document yet. */
  let untranslated = new Set<string>();
  /** The other sources that nodes may not serve yet, and what they wait for. */
  const unserved = new Relation<string, string>();
  /** What sources wait for, by name. There are few at a time, because many sources have the same fleets. */
  const waits = new Map<string, FleetWait>();
  /** Whether nodes may serve more than at the last sync. */
  let isProgressNew = true;
  /** The sources for which the callbacks are due. */
  const [dueTranslated, dueProgrammed] = [new Set<string>(), new Set<string>()];
  const resync = setInterval(onProgress, RESYNC_INTERVAL).unref();
  let nextTurn: NodeJS.Immediate | undefined;
  /** While the calls for translated sources wait: for which revision, and the timer that ends the wait. */
  let hold: { readonly revision: number; readonly timer: NodeJS.Timeout } | undefined;
  let closed = false;

  publish.progress.subscribe(onProgress);
  gate.terms.subscribe((term) => {
    if (term === null) return;
    mark(all());
    sync();
  });

  function mark(keys: Iterable<string>): void {
    for (const key of keys) {
      unserved.set(key, none);
      dueTranslated.delete(key);
      dueProgrammed.delete(key);
      untranslated.add(key);
    }
  }

  function onProgress(): void {
    isProgressNew = true;
    sync();
  }

  function sync(): void {
    clearImmediate(nextTurn);
    nextTurn = undefined;
    if (closed || gate.term() === null) return;
    if (untranslated.size > 0) {
      const revision = revisionNow();
      if (revision !== null) reachRevision(revision);
    }
    if (isProgressNew) endWaits();
    if (hold && publisher.acknowledgement(hold.revision).programmed) endHold();
    callDue();
  }

  function endHold(): void {
    clearTimeout(hold?.timer);
    hold = undefined;
  }

  function endWaits(): void {
    isProgressNew = false;
    for (const [name, { revision, fleets }] of waits) {
      const waiting = unserved.leftsOf(name);
      if (waiting.size > 0 && !publisher.acknowledgement(revision, fleets).programmed) continue;
      waits.delete(name);
      for (const key of [...waiting]) {
        unserved.set(key, none);
        dueProgrammed.add(key);
      }
    }
  }

  function callDue(): void {
    let left = MAX_PER_TURN;
    const callAll = (keys: Set<string>, call: (key: string) => void): boolean => {
      for (const key of keys) {
        if (left-- === 0) return false;
        keys.delete(key);
        call(key);
      }
      return true;
    };
    const isDone =
      (hold || callAll(dueTranslated, callbacks.onTranslated)) && callAll(dueProgrammed, callbacks.onProgrammed);
    if (!isDone) nextTurn = setImmediate(sync);
  }

  function reachRevision(revision: number): void {
    const translated = untranslated;
    untranslated = new Set();
    isProgressNew = true;
    const names = new Map<string, ReadonlySet<string>>();
    for (const key of translated) {
      const fleets = callbacks.fleetsOf?.(key);
      const name = [revision, ...(fleets ?? [])].join(" ");
      waits.set(name, { revision, fleets });
      unserved.set(
        key,
        names.getOrInsertComputed(name, () => new Set([name])),
      );
      dueTranslated.add(key);
    }
    if (translated.size <= MAX_PER_TURN) return;
    const release = () => {
      endHold();
      sync();
    };
    hold ??= { revision, timer: setTimeout(release, MAX_HOLD).unref() };
  }

  /** The revision that has all sources; null: a change was not translated yet. */
  const revisionNow = (): number | null => (translate.isUpToDate() ? publisher.revision() : null);

  return {
    mark,
    sync,
    close() {
      closed = true;
      clearInterval(resync);
      clearImmediate(nextTurn);
      endHold();
    },
  };
}
