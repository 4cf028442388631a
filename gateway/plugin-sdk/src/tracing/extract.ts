/**
 * Reads the context of a trace from headers, by Kong's rules. Specifications of the formats: W3C Trace Context,
 * openzipkin/b3-propagation, Jaeger's client libraries, OpenTracing's basictracer, AWS X-Ray, Google Cloud Trace,
 * Datadog.
 */
import type { ExchangeRequest } from "../exchange/exchange.ts";
import {
  emptyContext,
  hexOfDecimal,
  idOfLength,
  type ReceivedFormat,
  SPAN_DIGITS,
  TRACE_DIGITS,
  type TraceContext,
} from "./trace-context.ts";
import { parseTraceParent } from "./trace-parent.ts";

export type HeaderSource = Pick<ExchangeRequest, "headerValues" | "rawHeaders">;

export interface ReceivedContext extends TraceContext {
  /** The format in which it was received. */
  readonly format: ReceivedFormat | "b3-single";
}

/** The value of a header that was sent exactly once; otherwise null. */
function single(headers: HeaderSource, name: Lowercase<string>): string | null {
  const values = headers.headerValues(name);
  return values.length === 1 ? (values[0] ?? null) : null;
}

const TRACE_ID = /^(?:[\da-f]{16}|[\da-f]{32})$/i;
const SPAN_ID = /^[\da-f]{16}$/i;
const ZEROS = /^0*$/;
const MAX_DECIMAL = 39;

const traceId = (hex: string): string => idOfLength(hex.toLowerCase(), TRACE_DIGITS);
const spanId = (hex: string): string => idOfLength(hex.toLowerCase(), SPAN_DIGITS);
const bytesOf = (hex: string): number => Math.ceil(hex.length / 2);

function w3c(headers: HeaderSource): TraceContext | null {
  const header = single(headers, "traceparent");
  const parent = header === null ? null : parseTraceParent(header);
  return parent && { ...emptyContext, ...parent, traceIdBytes: TRACE_DIGITS / 2 };
}

/** The ids in several headers; null if one of them is invalid. The id of a missing header is null. */
function ids(trace: string | null, ...spans: readonly (string | null)[]): readonly (string | null)[] | null {
  if (trace !== null && !TRACE_ID.test(trace)) return null;
  return spans.every((span) => span === null || SPAN_ID.test(span)) ? [trace, ...spans] : null;
}

const B3_SINGLE = /^([\da-f]{16}|[\da-f]{32})-([\da-f]{16})(?:-([01d]))?(?:-([\da-f]{16}))?$/i;

function b3Single(
  headers: HeaderSource,
): (Pick<TraceContext, "sampled" | "b3Flags"> & { readonly ids: RegExpExecArray | null }) | null {
  const state = () =>
    headers
      .headerValues("tracestate")
      .find((value) => value.startsWith("b3="))
      ?.slice("b3=".length);
  const value = single(headers, "b3") ?? state();
  if (value === undefined) return null;
  const match = B3_SINGLE.exec(value);
  const decision = match === null && /^[01d]$/.test(value) ? value : match?.[3];
  return {
    ids: match,
    sampled: decision === undefined ? null : decision !== "0",
    b3Flags: decision === "d" ? "1" : null,
  };
}

const decisions: ReadonlyMap<string | null, boolean> = new Map([
  ["1", true],
  ["true", true],
  ["0", false],
  ["false", false],
]);
const decisionOf = (text: string | null): boolean | null => decisions.get(text) ?? null;

function b3(headers: HeaderSource): (TraceContext & { readonly isSingle: boolean }) | null {
  const one = b3Single(headers);
  const flags = single(headers, "x-b3-flags");
  const several = ids(
    single(headers, "x-b3-traceid"),
    single(headers, "x-b3-spanid"),
    single(headers, "x-b3-parentspanid"),
  );
  const trace = one?.ids?.[1] ?? several?.[0] ?? null;
  const span = one?.ids?.[2] ?? several?.[1] ?? null;
  const parent = one?.ids?.[4] ?? several?.[2] ?? null;
  const sampled = one?.sampled ?? (flags === "1" ? true : decisionOf(single(headers, "x-b3-sampled")));
  if (trace === null && sampled === null) return null;
  return {
    ...emptyContext,
    traceId: trace && traceId(trace),
    spanId: trace && span && spanId(span),
    parentId: trace && parent && spanId(parent),
    sampled,
    traceIdBytes: trace === null ? null : bytesOf(trace),
    sharesSpan: true,
    b3Flags: one?.b3Flags ?? (flags === "1" ? flags : null),
    isSingle: one !== null,
  };
}

/** Maximum number of members of a baggage; each is forwarded as a header. */
const MAX_BAGGAGE = 64;

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function baggageOf({ rawHeaders }: HeaderSource, prefix: string): ReadonlyMap<string, string> {
  const baggage = new Map<string, string>();
  for (let at = 0; at < rawHeaders.length && baggage.size < MAX_BAGGAGE; at += 2) {
    const name = rawHeaders[at]?.toLowerCase() ?? "";
    if (name.startsWith(prefix)) baggage.set(name.slice(prefix.length), decoded(rawHeaders[at + 1] ?? ""));
  }
  return baggage;
}

const JAEGER = /^([\da-f]{1,32}):([\da-f]{1,16}):([\da-f]+):([\da-f]{1,2})$/i;

function jaeger(headers: HeaderSource): TraceContext | null {
  const [, trace = "", span = "", parent = "", flags = ""] = JAEGER.exec(single(headers, "uber-trace-id") ?? "") ?? [];
  if (ZEROS.test(trace) || ZEROS.test(span)) return null;
  return {
    ...emptyContext,
    traceId: traceId(trace),
    spanId: spanId(span),
    parentId: parent.length > SPAN_DIGITS || ZEROS.test(parent) ? null : spanId(parent),
    sampled: Number.parseInt(flags, 16) % 2 === 1,
    traceIdBytes: bytesOf(trace),
    sharesSpan: true,
    baggage: baggageOf(headers, "uberctx-"),
  };
}

function ot(headers: HeaderSource): TraceContext | null {
  const [trace = null, span = null] =
    ids(single(headers, "ot-tracer-traceid"), single(headers, "ot-tracer-spanid")) ?? [];
  const sampled = decisionOf(single(headers, "ot-tracer-sampled"));
  if (trace === null && sampled === null) return null;
  return {
    ...emptyContext,
    traceId: trace && traceId(trace),
    spanId: trace && span && spanId(span),
    sampled,
    traceIdBytes: trace === null ? null : bytesOf(trace),
    baggage: baggageOf(headers, "ot-baggage-"),
  };
}

const decimal = (text: string | null): string | null => {
  const digits = text?.trim() ?? "";
  return /^\d+$/.test(digits) && digits.length <= MAX_DECIMAL ? hexOfDecimal(digits) : null;
};

const priorities: ReadonlyMap<string, boolean> = new Map([
  ["2", true],
  ["1", true],
  ["0", false],
  ["-1", false],
]);

function datadog(headers: HeaderSource): TraceContext | null {
  const priority = single(headers, "x-datadog-sampling-priority");
  const sampled = priority === null ? null : priorities.get(priority);
  if (sampled === undefined) return null;
  const trace = decimal(single(headers, "x-datadog-trace-id"));
  const parent = decimal(single(headers, "x-datadog-parent-id"));
  if (trace === null && sampled === null) return null;
  return {
    ...emptyContext,
    traceId: trace && traceId(trace),
    spanId: trace && parent && spanId(parent),
    sampled,
    traceIdBytes: trace === null ? null : bytesOf(trace),
  };
}

const AWS_ROOT = /^1-([\da-f]{8})-([\da-f]{24})$/i;

/** Reads `Root=1-5759e988-bd862e3fe1be46a994272793;Parent=53995c3f42cd8ad8;Sampled=1`, with the parts in any order. */
function aws(headers: HeaderSource): TraceContext | null {
  const header = single(headers, "x-amzn-trace-id");
  if (header === null) return null;
  const members = new Map(
    header.split(";").map((part) => {
      const [name = "", value = ""] = part.split("=", 2);
      return [name.trim(), value.trim()] as const;
    }),
  );
  const { Root: root, Parent: parent, Sampled: sampled } = Object.fromEntries(members);
  const match = root === undefined ? null : AWS_ROOT.exec(root);
  if (root !== undefined && match === null) return null;
  if ((parent !== undefined && !SPAN_ID.test(parent)) || (sampled !== undefined && !/^[01]$/.test(sampled)))
    return null;
  if (match === null && sampled === undefined) return null;
  return {
    ...emptyContext,
    traceId: match && traceId(`${match[1]}${match[2]}`),
    spanId: match && parent !== undefined ? spanId(parent) : null,
    sampled: sampled === undefined ? null : sampled === "1",
    traceIdBytes: match && TRACE_DIGITS / 2,
  };
}

const GCP = /^([\da-f]{32})\/(\d{1,20})(?:;o=(\d))?$/;

function gcp(headers: HeaderSource): TraceContext | null {
  const match = GCP.exec(single(headers, "x-cloud-trace-context") ?? "");
  if (match === null) return null;
  const [, trace = "", span = "", flags] = match;
  return {
    ...emptyContext,
    traceId: trace,
    spanId: spanId(hexOfDecimal(span)),
    sampled: flags === "1",
    traceIdBytes: TRACE_DIGITS / 2,
  };
}

const readers = { w3c, b3, jaeger, ot, datadog, aws, gcp } as const;

/** The context in the first format that the headers have; null: they have none. Invalid headers count as missing. */
export function extractContext(headers: HeaderSource, formats: readonly ReceivedFormat[]): ReceivedContext | null {
  for (const format of formats) {
    const context = readers[format](headers);
    if (context !== null) {
      return {
        ...context,
        format: format === "b3" && "isSingle" in context && context.isSingle ? "b3-single" : format,
      };
    }
  }
  return null;
}
