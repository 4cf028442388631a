/** Logs when Redis stops counting requests and when it counts them again. */
import type { FastifyBaseLogger } from "fastify";

export interface Outage {
  /** Redis failed to count. */
  lost(error: unknown): void;
  /** Redis has counted. A connection alone does not show that: a full or read-only Redis accepts connections too. */
  back(): void;
  /** Logs nothing more. */
  close(): void;
}

/** An outage that begins and ends with every request would fill the log: it is logged once in this time. */
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
