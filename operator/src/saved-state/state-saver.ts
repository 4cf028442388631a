/** Decides when the acknowledged state is saved: soon after a change, and at most once per interval. */
import type { Logger } from "pino";
import { awaitLastWrite } from "../abortable-delay.ts";
import type { Leadership } from "../leader-election/leader-election.ts";
import type { StateReader } from "./state-reader.ts";
import type { AcknowledgedState, StateStore } from "./state-store.ts";

export interface StateSaverOptions {
  readonly store: Pick<StateStore, "write" | "isKeyReplaced">;
  readonly reader: Pick<StateReader, "isRead" | "restored" | "readNew">;
  readonly leadership: Pick<Leadership, "terms">;
  /** Minimum milliseconds between two writes; also the interval at which the encryption key is checked. */
  readonly interval: number;
  /**
   * Hash of the document to be saved, which may not be acknowledged yet; null while this operator does not publish, or
   * has published nothing.
   */
  readonly hash: () => string | null;
  /** Increases when there is something new to save although the document may be the same. */
  readonly version: () => number;
  /**
   * The state that the nodes run; null while some nodes lag, while changes are not translated yet, or while this
   * operator does not publish.
   */
  readonly acknowledged: () => AcknowledgedState | null;
  /** Called after each write. Default: does nothing. */
  readonly onWrite?: (outcome: "written" | "failed") => void;
  readonly log: Pick<Logger, "warn">;
}

/** Minimum milliseconds from a change to its write, unless the interval is shorter, so that changes share a write. */
const SAVE_DELAY = 1000;

export function createStateSaver(options: StateSaverOptions) {
  const { store, reader, leadership, interval, hash, version, acknowledged, log } = options;
  const { onWrite = () => undefined } = options;
  let savedHash: string | null = null;
  let savedVersion = 0;
  let savedAt: number | null = null;
  let leadershipChanges = 0;
  let triedAt = Number.NEGATIVE_INFINITY;
  let timer: NodeJS.Timeout | undefined;
  let writing: Promise<void> | undefined;
  let lastError = "";
  let isClosing = false;
  /** Whether close() no longer waits for a write. */
  let isClosed = false;
  let isCheckingKey = false;

  leadership.terms.subscribe(() => {
    savedHash = null;
    leadershipChanges++;
  });
  reader.restored.subscribe(schedule);

  function logOnce(error: unknown, what: string): void {
    const { message } = error as Error;
    if (message !== lastError) log.warn({ reason: message }, what);
    lastError = message;
  }

  const isDue = (latest: string) => latest !== savedHash || version() !== savedVersion;

  async function write(): Promise<void> {
    const now = acknowledged();
    if (!now || !isDue(now.hash)) return;
    const [turn, written] = [leadershipChanges, version()];
    triedAt = performance.now();
    try {
      // State that an earlier leader saved late, or that could not be read in time, must not be lost by this write.
      if (await reader.readNew()) {
        triedAt = Number.NEGATIVE_INFINITY;
        return;
      }
      await store.write(now);
      savedAt = Date.now();
      onWrite("written");
      lastError = "";
      if (turn === leadershipChanges) [savedHash, savedVersion] = [now.hash, written];
    } catch (error) {
      // A write that is cut off by closing the store is not an error.
      if (isClosed) return;
      onWrite("failed");
      logOnce(error, "cannot save the acknowledged state, trying again");
    }
  }

  function schedule(): void {
    if (timer || writing || isClosing || !reader.isRead()) return;
    const latest = hash();
    if (latest === null || !isDue(latest)) return;
    const wait = Math.max(Math.min(SAVE_DELAY, interval), triedAt + interval - performance.now());
    timer = setTimeout(() => {
      timer = undefined;
      writing = write().finally(() => {
        writing = undefined;
        schedule();
      });
    }, wait).unref();
  }

  /**
   * Checks the encryption key. Called at an interval, because RBAC lets the operator read the key's Secret by
   * name only, not watch it.
   */
  async function checkKey(): Promise<void> {
    if (isCheckingKey || !reader.isRead() || hash() === null) return;
    isCheckingKey = true;
    try {
      if (await store.isKeyReplaced()) savedHash = null;
    } catch (error) {
      if (!isClosing) logOnce(error, "cannot read the encryption key of the saved state");
    }
    isCheckingKey = false;
    schedule();
  }

  const keyCheckTimer = setInterval(() => void checkKey(), interval).unref();
  return {
    /** Schedules a save if there is something new. Called when nodes may have acknowledged a document. */
    schedule,
    /** Time at which this process last saved the state, in Unix milliseconds; null: never. */
    savedAt: () => savedAt,
    /** Saves the last acknowledged state, if the store responds in time. */
    async close() {
      isClosing = true;
      clearTimeout(timer);
      clearInterval(keyCheckTimer);
      const last = async () => {
        await writing;
        const latest = hash();
        if (reader.isRead() && latest !== null && isDue(latest)) await write();
      };
      await awaitLastWrite(last());
      isClosed = true;
    },
  };
}
