/**
 * The access log: one line of JSON per request, or per connection that is not HTTP, written when the request or the
 * connection is over.
 */
import { once } from "node:events";
import { open } from "node:fs/promises";
import type { Snapshot } from "@sluice/model";
import { pino } from "pino";
import type { ProxyLog } from "../../engine.ts";
import { keyNamesOf, withoutKeys } from "../key-parameters.ts";
import type { RequestObserver } from "../observer.ts";
import { exchangeRecord, type PathFormatter, refusalRecord, streamRecord, withoutQuery } from "../request-records.ts";

export interface AccessLogPlan {
  /** File to append to; null: standard output. */
  readonly file: string | null;
  /** Whether queries are logged, without the values of keys. */
  readonly query: boolean;
}

export interface AccessLogOptions {
  readonly plan: AccessLogPlan;
  /** Snapshot whose plugins determine which parameters hold keys or tokens. */
  readonly snapshot: () => Snapshot;
  /** Receives an error when lines are lost. */
  readonly log: ProxyLog;
}

export type AccessLog = Required<Pick<RequestObserver, "finished" | "rejected" | "streamed" | "reopen" | "close">>;

/** Maximum milliseconds for which a line is buffered. */
const FLUSH_INTERVAL = 1000;
/** Maximum bytes buffered while the destination is blocked; further lines are dropped. */
const MOST_WAITING = 16 * 1024 * 1024;
/** Milliseconds within which the buffer must be flushed on close. */
const CLOSING_PATIENCE = 3000;
const STDOUT = 1;

/**
 * Opens the log. Lines are written in batches. Files are opened for appending, so that several threads and nodes can
 * share one, and `copytruncate` rotation works. Writes to a pipe stay within the size that the kernel keeps atomic.
 *
 * Rejects when the file cannot be opened.
 */
export async function openAccessLog({ plan, snapshot, log }: AccessLogOptions): Promise<AccessLog> {
  const { file, query } = plan;
  // Opened first: pino's destination would end the process when its file cannot be opened.
  if (file !== null) await (await open(file, "a")).close();
  const destination = pino.destination({
    dest: file ?? STDOUT,
    append: true,
    sync: false,
    maxLength: MOST_WAITING,
    ...(file === null ? { minLength: 2048, maxWrite: 4096 } : { minLength: 8192, maxWrite: 16_384 }),
  });
  if (file !== null) await once(destination, "ready");
  let isLosing = false;
  const lose = (reason: string) => {
    if (!isLosing) log.error({ file, reason }, "lines of the access log are lost");
    isLosing = true;
  };
  destination.on("error", (error: Error) => lose(error.message));
  destination.on("drop", () => lose("the buffer is full"));
  destination.on("drain", () => {
    isLosing = false;
  });
  const flushing = setInterval(() => destination.flush(), FLUSH_INTERVAL).unref();
  // `log` replaces the level: on standard output it distinguishes these lines from those of the node's own log.
  const formatters = { level: () => ({ log: "access" }) };
  const lines = pino({ base: undefined, formatters, timestamp: pino.stdTimeFunctions.isoTime }, destination);
  const tellPath = query ? withQuery(snapshot) : withoutQuery;
  return {
    finished: (exchange) => lines.info(exchangeRecord(exchange, tellPath)),
    rejected: (refusal) => lines.info(refusalRecord(refusal)),
    streamed: (record) => lines.info(streamRecord(record)),
    reopen: () => {
      if (file !== null) destination.reopen();
    },
    async close() {
      clearInterval(flushing);
      const closed = once(destination, "close", { signal: AbortSignal.timeout(CLOSING_PATIENCE) });
      destination.end();
      await closed.catch(() => undefined);
    },
  };
}

const HIDDEN = "[redacted]";

/** Includes the query, but hides the values of all parameters from which any plugin reads keys or tokens. */
const withQuery =
  (snapshot: () => Snapshot): PathFormatter =>
  ({ path, query }) =>
    query.length < 2 ? path : path + withoutKeys(query, keyNamesOf(snapshot()), HIDDEN);
