/** Reads the saved state at the start, and again whenever this operator begins to lead. */
import { ApiServerError, type Resource } from "@sluice/crds";
import type { Logger } from "pino";
import { abortableDelay } from "../abortable-delay.ts";
import { createEmitter } from "../emitter.ts";
import type { Leadership } from "../leader-election/leader-election.ts";
import type { StateStore } from "./state-store.ts";

export interface StateReaderOptions {
  readonly store: Pick<StateStore, "read" | "term">;
  readonly leadership: Pick<Leadership, "terms">;
  readonly signal: AbortSignal;
  readonly log: Pick<Logger, "info" | "warn">;
  /** Milliseconds between attempts to read. Default: 1000. */
  readonly retryInterval?: number;
  /**
   * Milliseconds for which refused reads count as temporary: a new role binding may not be effective yet, and a webhook
   * or a cloud credential plugin may refuse for a moment. Default: 15,000.
   */
  readonly refusalGrace?: number;
}

export function createStateReader({
  store,
  leadership,
  signal,
  log,
  retryInterval = 1000,
  refusalGrace = 15_000,
}: StateReaderOptions) {
  const restored = createEmitter<ReadonlyMap<string, Resource> | null>();
  let isRead = false;
  let isReading = false;
  /** Whether another read is needed: another operator may have saved since the last read was started. */
  let isReadPending = true;
  let refusedSince: number | null = null;
  let lastError = "";

  leadership.terms.subscribe((term) => {
    if (term === null) return;
    isRead = false;
    isReadPending = true;
    void read();
  });

  function isRetryable(error: unknown): boolean {
    if (isNoAnswer(error)) {
      refusedSince = null;
      return true;
    }
    refusedSince ??= performance.now();
    return performance.now() - refusedSince < refusalGrace;
  }

  async function readWithRetries(): Promise<ReadonlyMap<string, Resource> | null> {
    while (!signal.aborted) {
      try {
        const saved = await store.read();
        refusedSince = null;
        lastError = "";
        return saved;
      } catch (error) {
        const { message } = error as Error;
        if (message !== lastError) log.warn({ reason: message }, "cannot read the saved state");
        lastError = message;
        if (!isRetryable(error)) {
          log.warn({ reason: message }, "continuing without the saved state");
          return null;
        }
        await abortableDelay(retryInterval, signal);
      }
    }
    return null;
  }

  function report(saved: ReadonlyMap<string, Resource> | null): void {
    if (saved) log.info({ resources: saved.size }, "read the saved state");
    restored.emit(saved);
  }

  async function read(): Promise<void> {
    if (isReading) return;
    isReading = true;
    while (isReadPending) {
      isReadPending = false;
      const saved = await readWithRetries();
      if (signal.aborted) return;
      isRead = !isReadPending;
      report(saved);
    }
    isReading = false;
  }

  void read();
  return {
    /**
     * Whether the saved state has been read since the start and since this operator's current term began; also true
     * when the reader has given up. A new leader reads before it publishes, because another operator may have saved
     * after the last read.
     */
    isRead: () => isRead,
    /** Emits saved state that this process has not read before; null: there is none, or it cannot be read. */
    restored,
    /**
     * Reads the state that other operators have saved since the last read; returns whether there was any. Does not
     * retry.
     */
    async readNew() {
      const saved = await store.read();
      if (saved) report(saved);
      return saved !== null;
    },
    /** The term in which state was last saved; 0: no state was saved, or it cannot be read. */
    async highestTerm() {
      try {
        return await store.term();
      } catch (error) {
        log.warn({ reason: (error as Error).message }, "cannot read the term of the saved state");
        return 0;
      }
    },
  };
}

export type StateReader = ReturnType<typeof createStateReader>;

/**
 * Whether the error is a network failure, or comes from a failing or overloaded server: then the read is retried
 * without limit. Any other error, such as a 403, counts as a refusal: then the read is retried for a limited time.
 */
function isNoAnswer(error: unknown): boolean {
  if (error instanceof ApiServerError) return error.code === 429 || error.code >= 500;
  if (error instanceof DOMException) return error.name === "TimeoutError" || error.name === "AbortError";
  return error instanceof Error && "code" in error && typeof error.code === "string";
}
