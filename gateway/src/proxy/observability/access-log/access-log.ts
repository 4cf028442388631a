/** The access log: a line of JSON for each request, when it is over. */
import { once } from "node:events";
import { open } from "node:fs/promises";
import type { Snapshot } from "@sluice/model";
import { pino } from "pino";
import type { ProxyLog } from "../../pipeline.ts";
import type { Observer } from "../observer.ts";
import { withoutQuery, withQuery } from "./paths.ts";
import { exchangeRecord, refusalRecord } from "./record.ts";

export interface AccessLogPlan {
  /** Where lines are appended; null: standard output. */
  readonly file: string | null;
  /** Whether queries are told, without keys. */
  readonly query: boolean;
}

export interface AccessLogOptions {
  readonly plan: AccessLogPlan;
  /** Whose key-auth plugins say which parameters are keys. */
  readonly snapshot: () => Snapshot;
  /** Told when lines are lost. */
  readonly log: ProxyLog;
}

export type AccessLog = Required<Pick<Observer, "finished" | "rejected" | "reopen" | "close">>;

/** Longest time in milliseconds that a line waits for others. */
const FLUSH_INTERVAL = 1000;
/** Bytes that wait while nobody takes them; what comes then is lost. */
const MOST_WAITING = 16 * 1024 * 1024;
/** Milliseconds in which what waits must have been taken when the log is closed. */
const CLOSING_PATIENCE = 3000;
const STDOUT = 1;

/**
 * Lines are written many at a time. Files are appended to, so that several threads and nodes may share one, and tools
 * that copy and cut a log may do so; what is written at once to a pipe is no more than the system keeps in one piece.
 *
 * Rejects when the file cannot be opened.
 */
export async function openAccessLog({ plan, snapshot, log }: AccessLogOptions): Promise<AccessLog> {
  const { file, query } = plan;
  // pino's destination ends the process with an error of its own when it could not open its file.
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
  destination.on("drop", () => lose("nobody takes them"));
  destination.on("drain", () => {
    isLosing = false;
  });
  const flushing = setInterval(() => destination.flush(), FLUSH_INTERVAL).unref();
  // On standard output they stand among the lines of the node's own log, which have a level.
  const formatters = { level: () => ({ log: "access" }) };
  const lines = pino({ base: undefined, formatters, timestamp: pino.stdTimeFunctions.isoTime }, destination);
  const tellPath = query ? withQuery(snapshot) : withoutQuery;
  return {
    finished: (exchange) => lines.info(exchangeRecord(exchange, tellPath)),
    rejected: (refusal) => lines.info(refusalRecord(refusal)),
    reopen: () => {
      if (file !== null) destination.reopen();
    },
    async close() {
      clearInterval(flushing);
      const closed = new Promise<void>((resolve) => destination.once("close", resolve));
      destination.end();
      const { promise: late, resolve } = Promise.withResolvers<void>();
      const timer = setTimeout(resolve, CLOSING_PATIENCE);
      await Promise.race([closed, late]);
      clearTimeout(timer);
    },
  };
}
