/** When what is acknowledged is kept: soon after a change, and not more often than the interval says. */
import { Fault, type Resource } from "@sluice/crds";
import type { Logger } from "pino";
import { abortableDelay } from "../abortable-delay.ts";
import type { AcknowledgedState, StateStore } from "./state-store.ts";

export interface StateSaverOptions {
  readonly store: StateStore;
  /** Milliseconds between two writes at least, and between two looks at the key. */
  readonly interval: number;
  /** Of the document that is to be kept, though it may not be acknowledged yet; null while another operator leads. */
  readonly hash: () => string | null;
  /** Another one when there is something else to be kept, though the document may be the same. */
  readonly version: () => number;
  /** What the nodes run; null while some do not yet, or another operator leads. */
  readonly acknowledged: () => AcknowledgedState | null;
  /** What was kept and was not known yet has been read; null: there is none, or it cannot be read. */
  readonly onRead: (kept: ReadonlyMap<string, Resource> | null) => void;
  readonly log: Pick<Logger, "info" | "warn">;
  /** Milliseconds between attempts to read. Default: 1000. */
  readonly retryInterval?: number;
  /** Milliseconds for which a refusal to have it read is taken for one that passes. Default: 15,000. */
  readonly refusalGrace?: number;
}

export interface StateSaver {
  /** Whether what was kept has been looked at: since the start, and since the term began in which we lead. */
  isRead(): boolean;
  /** Something may have been acknowledged. */
  schedule(): void;
  /** Who leads has changed: another operator may have kept something since. Before we publish it is looked at. */
  leadershipChanged(isOurs: boolean): void;
  /** When something was kept last, Unix milliseconds; null: not by this process. */
  savedAt(): number | null;
  /** Keeps what was acknowledged last, if the store takes it soon. */
  close(): Promise<void>;
}

/** Changes that come together are written together. */
const SAVE_DELAY = 1000;
const READ_RETRY_INTERVAL = 1000;
/** A role that was just bound, a webhook or a credential plugin of the cloud may refuse for a moment. */
const REFUSAL_GRACE = 15_000;
/** Milliseconds that a last write may take. Others wait for the lead meanwhile. */
const SHUTDOWN_WRITE_TIMEOUT = 500;

export function createStateSaver(options: StateSaverOptions): StateSaver {
  const { store, interval, hash, version, acknowledged, onRead, log } = options;
  const { retryInterval = READ_RETRY_INTERVAL, refusalGrace = REFUSAL_GRACE } = options;
  const closing = new AbortController();
  let isRead = false;
  let isReading = false;
  /** Another operator may have kept something since the reading that is under way was begun. */
  let isReadPending = true;
  let refusedSince: number | null = null;
  let savedHash: string | null = null;
  let savedVersion = 0;
  let savedAt: number | null = null;
  /** How often who leads has changed. */
  let leadershipChanges = 0;
  let triedAt = Number.NEGATIVE_INFINITY;
  let timer: NodeJS.Timeout | undefined;
  let writing: Promise<void> | undefined;
  let lastError = "";
  /** Nobody waits for a write any more. */
  let isClosed = false;
  let isCheckingKey = false;

  function logOnce(error: unknown, what: string): void {
    const { message } = error as Error;
    if (message !== lastError) log.warn({ reason: message }, what);
    lastError = message;
  }

  /** Whether it is worth another attempt. */
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
      // What an operator of before kept late, or what could not be read in time, must not be lost by this.
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
      // What is cut off then is told when the store is closed, and means nothing.
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

  /** Nobody tells of the key: RBAC lets the operator read its Secret by name alone. */
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
    leadershipChanged(isOurs) {
      savedHash = null;
      leadershipChanges++;
      if (!isOurs) return;
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
 * The network, or a server that has too much to do: that passes, and nothing was said. Anything else is a refusal, such
 * as a 403: it may pass, but nothing waits for it for ever.
 */
function isNoAnswer(error: unknown): boolean {
  if (error instanceof Fault) return error.code === 429 || error.code >= 500;
  if (error instanceof DOMException) return error.name === "TimeoutError" || error.name === "AbortError";
  return error instanceof Error && "code" in error && typeof error.code === "string";
}
