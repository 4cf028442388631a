/** Tells the log when Redis counts no requests, and when it does again. */
import type { FastifyBaseLogger } from "fastify";

export interface Outage {
  /** It does not count. */
  lost(error: unknown): void;
  /** It has counted: a connection alone does not say so, for one that is full or read-only takes those as well. */
  back(): void;
  /** Says nothing any more. */
  close(): void;
}

/** One that comes and goes with every request would fill the log: it is said to be away once in so long. */
const QUIET = 30_000;

export function makeOutage(log: Pick<FastifyBaseLogger, "info" | "warn">): Outage {
  let away = false;
  let said = false;
  let saidAt = Number.NEGATIVE_INFINITY;
  let closed = false;
  let timer: NodeJS.Timeout | undefined;

  function say(error: unknown): void {
    said = true;
    saidAt = Date.now();
    log.warn({ err: error }, "each replica counts requests for itself: Redis does not");
  }

  return {
    lost(error) {
      if (away || closed) return;
      away = true;
      const quiet = saidAt + QUIET - Date.now();
      if (quiet <= 0) say(error);
      else timer = setTimeout(say, quiet, error).unref();
    },
    back() {
      if (!away) return;
      away = false;
      clearTimeout(timer);
      if (said) log.info("replicas count requests together again");
      said = false;
    },
    close() {
      closed = true;
      clearTimeout(timer);
    },
  };
}
