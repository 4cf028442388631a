/** Logs when Redis stops counting requests and when it counts them again. */
import type { FastifyBaseLogger } from "fastify";

/**
 * Milliseconds in which at most one outage is logged: outages that begin and end with every request would fill the log.
 */
const LOG_INTERVAL = 30_000;

export function makeOutageLog(log: Pick<FastifyBaseLogger, "info" | "warn">) {
  let failing = false;
  let logged = false;
  let loggedAt = Number.NEGATIVE_INFINITY;
  let closed = false;
  let timer: NodeJS.Timeout | undefined;

  function logOutage(error: unknown): void {
    logged = true;
    loggedAt = Date.now();
    log.warn({ err: error }, "Redis does not count requests; each replica counts its own");
  }

  return {
    failed(error: unknown): void {
      if (failing || closed) return;
      failing = true;
      const quiet = loggedAt + LOG_INTERVAL - Date.now();
      if (quiet <= 0) logOutage(error);
      else timer = setTimeout(logOutage, quiet, error).unref();
    },
    /**
     * Called when Redis has counted a request. A connection alone does not show that Redis counts: a full or read-only
     * Redis accepts connections too.
     */
    recovered(): void {
      if (!failing) return;
      failing = false;
      clearTimeout(timer);
      if (logged) log.info("Redis counts requests again");
      logged = false;
    },
    close(): void {
      closed = true;
      clearTimeout(timer);
    },
  };
}
