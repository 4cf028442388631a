/** The log: JSON or text, with one line for each request except health checks and reads of the metrics. */
import { randomUUID } from "node:crypto";
import type { IncomingMessage } from "node:http";
import { isatty } from "node:tty";
import { type FastifyBaseLogger, type FastifyReply, type FastifyRequest, LogController } from "fastify";
import { type DestinationStream, type LevelWithSilent, type Logger, pino } from "pino";
import { type LogOutputFormat, plainTextLogTo } from "./text-log.ts";

/** The logged members of a request. Headers and the query string are left out: they hold credentials and queries. */
function requestOf(request: { readonly method?: string; readonly url?: string; readonly ip?: string }) {
  return { method: request.method, path: request.url?.split("?", 1)[0], remoteAddress: request.ip };
}

const STDOUT = 1;

/** Writes to standard output by default. Synchronous, because pino's default may reorder the last lines. */
export function makeLog(
  { level, format = "auto" }: { readonly level: string; readonly format?: LogOutputFormat },
  destination: DestinationStream = pino.destination({ dest: STDOUT, sync: true }),
): Logger {
  const isText = format === "text" || (format === "auto" && isatty(STDOUT));
  const options = {
    level,
    serializers: { req: requestOf, err: formatErrorForLog },
    timestamp: pino.stdTimeFunctions.isoTime,
  };
  return pino(options, isText ? plainTextLogTo(destination) : destination);
}

/** Seconds for which SIGUSR2 sets the level to debug, so that a forgotten debug level does not fill a disk. */
const DEBUG_SECONDS = 600;

/**
 * On SIGUSR2, sets the level to debug for ten minutes. Another SIGUSR2 in this time restores the configured level. The
 * same as `TemporaryLogLevel` of the model, on which this workload does not depend.
 */
export function changeLevelOnSignal(log: Logger): void {
  const configured = log.level;
  let timer: NodeJS.Timeout | undefined;
  const restore = () => {
    clearTimeout(timer);
    timer = undefined;
    // The level of the settings may hide the line.
    log.info({ now: configured }, "the log level of the settings was restored");
    log.level = configured;
  };
  process.on("SIGUSR2", () => {
    if (timer) return restore();
    timer = setTimeout(restore, DEBUG_SECONDS * 1000).unref();
    log.level = "debug";
    log.info({ now: log.level, seconds: DEBUG_SECONDS }, "the log level was changed");
  });
}

/** The header `traceparent` (W3C Trace Context, section 3.2), of version 00 or a later version. */
const TRACE_PARENT = /^(?!ff)[\da-f]{2}-(?!0{32})([\da-f]{32})-(?!0{16})([\da-f]{16})-[\da-f]{2}(?:-|$)/;

/** Members of every log line of a request, in addition to its id: the ids of the gateway's trace and span, if any. */
export function logBindingsOf({ headers }: Pick<IncomingMessage, "headers">): {
  readonly traceId?: string;
  readonly spanId?: string;
} {
  const { traceparent } = headers;
  const [, traceId, spanId] = (typeof traceparent === "string" && TRACE_PARENT.exec(traceparent)) || [];
  return traceId === undefined ? {} : { traceId, spanId };
}

/**
 * The logger of one request. It creates pino's child logger, which costs as much as a tenth of a small query, at the
 * first line that is written: at the level `warn`, most requests write none.
 */
export class RequestLogger implements FastifyBaseLogger {
  readonly #parent: FastifyBaseLogger;
  readonly #createChild: () => FastifyBaseLogger;
  #child: FastifyBaseLogger | undefined;

  /** @param createChild Creates the logger that writes, with the level of `parent` */
  constructor(parent: FastifyBaseLogger, createChild: () => FastifyBaseLogger) {
    this.#parent = parent;
    this.#createChild = createChild;
  }

  get level(): string {
    return this.#parent.level;
  }

  child(...options: Parameters<FastifyBaseLogger["child"]>): FastifyBaseLogger {
    return this.#writer().child(...options);
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

  silent(): void {}

  #write(level: LevelWithSilent, line: unknown[]): void {
    const { values } = pino.levels;
    if ((values[level] ?? 0) >= (values[this.#parent.level] ?? 0)) this.#writer()[level](...(line as [object]));
  }

  #writer(): FastifyBaseLogger {
    this.#child ??= this.#createChild();
    return this.#child;
  }
}

const thisProcess = randomUUID().slice(0, 13);
let requests = 0;

/** The gateway's request id, which correlates the gateway's log with this log; a new id if it is absent or invalid. */
export function requestIdOf({ headers }: Pick<IncomingMessage, "headers">): string {
  const given = headers["x-request-id"];
  return typeof given === "string" && /^[\w.:-]{1,128}$/.test(given)
    ? given
    : `${thisProcess}-${(requests++).toString(36)}`;
}

/** Members that classify errors of Node, Fastify and Postgres. */
const members = ["code", "errno", "syscall", "address", "port", "statusCode", "severity", "routine"] as const;

/** An error of Redis repeats the arguments of an unknown command: the password, if the command is HELLO or AUTH. */
const ARGUMENTS = /(, with args beginning with: ).*/g;

const withoutArguments = (text: string): string => text.replace(ARGUMENTS, "$1[redacted]");

/**
 * A serializer for pino: the type; message and stack, which include those of the causes; the members listed above; and
 * the inner errors of an AggregateError in the same form.
 */
export function formatErrorForLog(error: unknown): Readonly<Record<string, unknown>> {
  if (!(error instanceof Error)) return { message: withoutArguments(String(error)) };
  const { type, message, stack } = pino.stdSerializers.err(error);
  const kept = members.filter((name) => name in error).map((name) => [name, Reflect.get(error, name)]);
  return {
    type,
    message: withoutArguments(message),
    stack: withoutArguments(stack),
    ...(error instanceof AggregateError ? { aggregateErrors: error.errors.map(formatErrorForLog) } : {}),
    ...Object.fromEntries(kept),
  };
}

declare module "fastify" {
  interface FastifyRequest {
    /** The executed operation, as it is logged. Null: none was executed. */
    answered: { readonly operation?: string; readonly type: string } | null;
  }
}

/** Replaces Fastify's request log, which writes two lines and does not know operations. */
export class RequestLog extends LogController {
  constructor() {
    super({ requestIdLogLabel: "requestId" });
  }

  override incomingRequest(): void {}

  override requestCompleted(error: Error | null, request: FastifyRequest, reply: FastifyReply): void {
    const milliseconds = Math.round(reply.elapsedTime * 10) / 10;
    const line = { req: request, status: reply.statusCode, milliseconds, ...request.answered };
    if (error) request.log.error({ ...line, err: error }, "the response could not be sent");
    else request.log.info(line, "answered");
  }
}
