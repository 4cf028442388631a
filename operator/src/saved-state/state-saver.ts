/** Decides when the acknowledged state is saved: soon after a change, and at most once per interval. */
import { ApiServerError, type Resource } from "@sluice/crds";
import type { Logger } from "pino";
import { abortableDelay } from "../abortable-delay.ts";
import type { AcknowledgedState, StateStore } from "./state-store.ts";

export interface StateSaverOptions {
  readonly store: StateStore;
  /** Minimum milliseconds between two writes, and between two checks of the key. */
  readonly interval: number;
  /** Hash of the document to be saved, although it may not be acknowledged yet; null while another operator leads. */
  readonly hash: () => string | null;
  /** Changes when there is something new to save, although the document may be the same. */
  readonly version: () => number;
  /** The state that the nodes run; null while some nodes lag, or while another operator leads. */
  readonly acknowledged: () => AcknowledgedState | null;
  /** Called with saved state that this process has not read before; null: there is none, or it cannot be read. */
  readonly onRead: (kept: ReadonlyMap<string, Resource> | null) => void;
  readonly log: Pick<Logger, "info" | "warn">;
  /** Milliseconds between attempts to read. Default: 1000. */
  readonly retryInterval?: number;
  /** Milliseconds for which a refused read counts as temporary. Default: 15,000. */
  readonly refusalGrace?: number;
}

export interface StateSaver {
  /** Whether the saved state has been read: since the start, and since this operator's current term began. */
  isRead(): boolean;
  /** Schedules a save when there is something new: nodes may have acknowledged a document. */
  schedule(): void;
  /**
   * Leadership has changed. A new leader reads the saved state before it publishes, because another operator may have
   * saved since.
   */
  leadershipChanged(isSluiceKind: boolean): void;
  /** When this process last saved, in Unix milliseconds; null: it has not. */
  savedAt(): number | null;
  /** Saves the last acknowledged state, if the store responds in time. */
  close(): Promise<void>;
}

/** Changes within this time share one write. */
const SAVE_DELAY = 1000;
const READ_RETRY_INTERVAL = 1000;
/** A role that was just bound, a webhook or a cloud credential plugin may refuse for a moment. */
const REFUSAL_GRACE = 15_000;
/** Milliseconds that the last write may take. Another operator waits for leadership meanwhile. */
const SHUTDOWN_WRITE_TIMEOUT = 500;

export function createStateSaver(options: StateSaverOptions): StateSaver {
  const { store, interval, hash, version, acknowledged, onRead, log } = options;
  const { retryInterval = READ_RETRY_INTERVAL, refusalGrace = REFUSAL_GRACE } = options;
  const closing = new AbortController();
  let isRead = false;
  let isReading = false;
  /** Another operator may have saved since the read in progress began. */
  let isReadPending = true;
  let refusedSince: number | null = null;
  let savedHash: string | null = null;
  let savedVersion = 0;
  let savedAt: number | null = null;
  /** How often leadership has changed. */
  let leadershipChanges = 0;
  let triedAt = Number.NEGATIVE_INFINITY;
  let timer: NodeJS.Timeout | undefined;
  let writing: Promise<void> | undefined;
  let lastError = "";
  /** Close no longer waits for a write. */
  let isClosed = false;
  let isCheckingKey = false;

  function logOnce(error: unknown, what: string): void {
    const { message } = error as Error;
    if (message !== lastError) log.warn({ reason: message }, what);
    lastError = message;
  }

  /** Whether another attempt may succeed. */
  function isRetryable(error: unknown): boolean {
    if (isNoAnswer(error)) {
      refusedSince = null;
      return true;
    }
    refusedSince ??= performance.now();
    return performance.now() - refusedSince < refusalGrace;
  }

  async function readWithRetries(): Promise<ReadonlyMap<string, Resource> | null> {
    while (!closing.signal.aborted) {
      try {
        const kept = await store.read();
        refusedSince = null;
        lastError = "";
        return kept;
      } catch (error) {
        logOnce(error, "cannot read what was kept");
        if (!isRetryable(error)) {
          log.warn({ reason: (error as Error).message }, "goes on without what was kept");
          return null;
        }
        await abortableDelay(retryInterval, closing.signal);
      }
    }
    return null;
  }

  function restore(kept: ReadonlyMap<string, Resource> | null): void {
    if (kept) log.info({ resources: kept.size }, "read what was kept");
    onRead(kept);
  }

  async function read(): Promise<void> {
    if (isReading) return;
    isReading = true;
    while (isReadPending) {
      isReadPending = false;
      const kept = await readWithRetries();
      if (closing.signal.aborted) return;
      isRead = !isReadPending;
      restore(kept);
    }
    isReading = false;
    schedule();
  }

  const isDue = (latest: string) => latest !== savedHash || version() !== savedVersion;

  async function write(): Promise<void> {
    const now = acknowledged();
    if (!now || !isDue(now.hash)) return;
    const [turn, written] = [leadershipChanges, version()];
    triedAt = performance.now();
    try {
      // State that an earlier leader saved late, or that could not be read in time, must not be lost by this write.
      const unknown = await store.read();
      if (unknown) {
        triedAt = Number.NEGATIVE_INFINITY;
        return restore(unknown);
      }
      await store.write(now);
      savedAt = Date.now();
      lastError = "";
      if (turn === leadershipChanges) [savedHash, savedVersion] = [now.hash, written];
    } catch (error) {
      // A write that is cut off by closing the store is not an error.
      if (!isClosed) logOnce(error, "cannot keep what is acknowledged, trying again");
    }
  }

  function schedule(): void {
    if (timer || writing || closing.signal.aborted || !isRead) return;
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

  /** Polls the key: RBAC lets the operator read its Secret by name only, not watch it. */
  async function checkKey(): Promise<void> {
    if (isCheckingKey || !isRead || hash() === null) return;
    isCheckingKey = true;
    try {
      if (await store.isKeyReplaced()) savedHash = null;
    } catch (error) {
      if (!closing.signal.aborted) logOnce(error, "cannot read the encryption key of the kept document");
    }
    isCheckingKey = false;
    schedule();
  }

  const keyCheckTimer = setInterval(() => void checkKey(), interval).unref();
  void read();
  return {
    isRead: () => isRead,
    schedule,
    leadershipChanged(isSluiceKind) {
      savedHash = null;
      leadershipChanges++;
      if (!isSluiceKind) return;
      isRead = false;
      isReadPending = true;
      void read();
    },
    savedAt: () => savedAt,
    async close() {
      closing.abort();
      clearTimeout(timer);
      clearInterval(keyCheckTimer);
      const last = async () => {
        await writing;
        const latest = hash();
        if (isRead && latest !== null && isDue(latest)) await write();
      };
      const late = new AbortController();
      await Promise.race([last(), abortableDelay(SHUTDOWN_WRITE_TIMEOUT, late.signal)]);
      late.abort();
      isClosed = true;
    },
  };
}

/**
 * Whether the error is a network failure or an overloaded server, which passes. Anything else is a refusal, such as a
 * 403: it may pass too, but reading does not wait for it forever.
 */
function isNoAnswer(error: unknown): boolean {
  if (error instanceof ApiServerError) return error.code === 429 || error.code >= 500;
  if (error instanceof DOMException) return error.name === "TimeoutError" || error.name === "AbortError";
  return error instanceof Error && "code" in error && typeof error.code === "string";
}
