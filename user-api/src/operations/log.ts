/** The log: one JSON object per line. */
import { randomUUID } from "node:crypto";
import type { IncomingMessage } from "node:http";
import type { FastifyBaseLogger } from "fastify";
import { type DestinationStream, type LevelWithSilent as Level, type Logger, pino } from "pino";
import { faultOf } from "./fault.ts";

/** The logged members of a request. Headers and the query string are left out: they hold credentials and queries. */
function requestOf(request: { readonly method?: string; readonly url?: string; readonly ip?: string }) {
  return { method: request.method, path: request.url?.split("?", 1)[0], remoteAddress: request.ip };
}

/** Writes to standard output by default. Synchronous, because pino's default may reorder the last lines. */
export function makeLog(
  level: string,
  destination: DestinationStream = pino.destination({ dest: 1, sync: true }),
): Logger {
  return pino({ level, serializers: { req: requestOf, err: faultOf } }, destination);
}

/** The header `traceparent` (W3C Trace Context, section 3.2), of this or a later version. */
const TRACE_PARENT = /^(?!ff)[\da-f]{2}-(?!0{32})([\da-f]{32})-(?!0{16})([\da-f]{16})-[\da-f]{2}(?:-|$)/;

/** The members of every line of a request: its id, and the ids of the gateway's trace and span, if there is one. */
export function bindingsOf({ headers }: Pick<IncomingMessage, "headers">): {
  readonly traceId?: string;
  readonly spanId?: string;
} {
  const { traceparent } = headers;
  const [, traceId, spanId] = (typeof traceparent === "string" && TRACE_PARENT.exec(traceparent)) || [];
  return traceId === undefined ? {} : { traceId, spanId };
}

const thisProcess = randomUUID().slice(0, 13);
let requests = 0;

/**
 * A request's log. Its child logger is created with the first line that is written: most requests write at most one,
 * and none when the level is higher.
 */
export class LogOfRequest implements FastifyBaseLogger {
  readonly #parent: FastifyBaseLogger;
  readonly #make: () => FastifyBaseLogger;
  #made: FastifyBaseLogger | undefined;

  /** @param make Creates the child logger, whose level is the parent's or higher. */
  constructor(parent: FastifyBaseLogger, make: () => FastifyBaseLogger) {
    this.#parent = parent;
    this.#make = make;
  }

  get level(): string {
    return this.#log().level;
  }

  child(...given: Parameters<FastifyBaseLogger["child"]>): FastifyBaseLogger {
    return this.#log().child(...given);
  }

  fatal(...line: unknown[]): void {
    this.#write("fatal", line);
  }

  error(...line: unknown[]): void {
    this.#write("error", line);
  }

  warn(...line: unknown[]): void {
    this.#write("warn", line);
  }

  info(...line: unknown[]): void {
    this.#write("info", line);
  }

  debug(...line: unknown[]): void {
    this.#write("debug", line);
  }

  trace(...line: unknown[]): void {
    this.#write("trace", line);
  }

  silent(...line: unknown[]): void {
    this.#write("silent", line);
  }

  #write(level: Level, line: unknown[]): void {
    const { values } = pino.levels;
    if ((values[level] ?? 0) < (values[this.#parent.level] ?? 0)) return;
    this.#log()[level](...(line as [object]));
  }

  #log(): FastifyBaseLogger {
    this.#made ??= this.#make();
    return this.#made;
  }
}

/** The gateway's request id, so that both logs can be correlated; otherwise a new one. */
export function requestIdOf({ headers }: Pick<IncomingMessage, "headers">): string {
  const given = headers["x-request-id"];
  return typeof given === "string" && /^[\w.:-]{1,128}$/.test(given)
    ? given
    : `${thisProcess}-${(requests++).toString(36)}`;
}
