/** The spans of an exchange: the request, and each attempt to forward it. */
import {
  type Exchange,
  httpMethodAttributes,
  httpMethodInName,
  operationSpanAttributes,
  randomId,
  SPAN_DIGITS,
  type SpanAttributes,
  serverSpanAttributes,
  serverSpanName,
} from "@sluice/plugin-sdk";

/** `SpanKind` of OpenTelemetry's API. */
export const spanKinds = { server: 1, client: 2 } as const;

/** A span in the form in which the queue contains it, as JSON. */
export interface QueuedSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentId: string | null;
  readonly name: string;
  readonly kind: (typeof spanKinds)[keyof typeof spanKinds];
  /** Unix milliseconds, with a fraction, as is `end`. */
  readonly start: number;
  readonly end: number;
  readonly attributes: SpanAttributes;
  readonly hasFailed: boolean;
}

/** The trace to which an exchange belongs, the ids of two spans of the exchange, and whether its spans are sent. */
export interface ExchangeTrace {
  readonly traceId: string;
  /** The parent of `serverSpan`; null: there is none, or it is unknown. */
  readonly parentId: string | null;
  readonly serverSpan: string;
  /** The span of the last attempt; the upstream receives its id. */
  readonly clientSpan: string;
  readonly isSampled: boolean;
}

const LONGEST_ATTRIBUTE = 1024;
const FIRST_ERROR = 400;
const FIRST_SERVER_ERROR = 500;

const statusAttributes = (status: number, firstError: number): SpanAttributes => ({
  "http.response.status_code": status,
  ...(status >= firstError && { "error.type": String(status) }),
});

const cut = (attributes: SpanAttributes): SpanAttributes =>
  Object.fromEntries(
    Object.entries(attributes).map(([name, value]) => [
      name,
      typeof value === "string" ? value.slice(0, LONGEST_ATTRIBUTE) : value,
    ]),
  );

/**
 * A span of the request, and one of each attempt to forward it.
 *
 * @param now Unix milliseconds of the end of the exchange
 */
export function spansOf(exchange: Exchange, trace: ExchangeTrace, now: number): readonly QueuedSpan[] {
  const { timings, attempts, status, source } = exchange;
  const ended = timings.ended ?? timings.started;
  const unix = (time: number) => now - ended + time;
  const { traceId, serverSpan, clientSpan } = trace;
  const server: QueuedSpan = {
    traceId,
    spanId: serverSpan,
    parentId: trace.parentId,
    name: serverSpanName(exchange),
    kind: spanKinds.server,
    start: unix(timings.started),
    end: unix(ended),
    attributes: cut({
      ...serverSpanAttributes(exchange),
      ...operationSpanAttributes(exchange),
      ...statusAttributes(status, FIRST_SERVER_ERROR),
    }),
    hasFailed: status >= FIRST_SERVER_ERROR,
  };
  const clients = attempts.map(({ host, port, started, failed }, index): QueuedSpan => {
    const isLast = index === attempts.length - 1;
    const isAnswered = isLast && !failed && source === "service";
    return {
      traceId,
      spanId: isLast ? clientSpan : randomId(SPAN_DIGITS),
      parentId: serverSpan,
      name: httpMethodInName(exchange.upstreamMethod),
      kind: spanKinds.client,
      start: unix(started),
      end: unix(attempts[index + 1]?.started ?? ended),
      attributes: cut({
        ...httpMethodAttributes(exchange.upstreamMethod),
        "server.address": host,
        "server.port": port,
        ...(index > 0 && { "http.request.resend_count": index }),
        ...(isAnswered ? statusAttributes(status, FIRST_ERROR) : { "error.type": "_OTHER" }),
      }),
      hasFailed: !isAnswered || status >= FIRST_ERROR,
    };
  });
  return [server, ...clients];
}
