/** Writes the context of a trace as headers, as Kong does. */
import { decimalOfHex, idOfLength, TRACE_DIGITS, type TraceContext, type TraceFormat } from "./trace-context.ts";
import { formatTraceParent } from "./trace-parent.ts";

export interface InjectedHeaders {
  readonly headers: Readonly<Record<string, string>>;
  /** The trace id as the format writes it, by the name under which Kong logs it. */
  readonly loggedId: { readonly name: string; readonly value: string };
}

/** A context that has ids, which every format needs. */
type Identified = TraceContext & { readonly traceId: string; readonly spanId: string };

const SHORT_DIGITS = TRACE_DIGITS / 2;

/** The trace id in the size in which it was received if `digits` contains this size; else in the first of `digits`. */
function sized({ traceId, traceIdBytes }: Identified, digits: readonly [number, ...number[]]): string {
  const received = (traceIdBytes ?? 0) * 2;
  return idOfLength(traceId, digits.includes(received) ? received : digits[0]);
}

const bit = (sampled: boolean | null): "0" | "1" => (sampled === true ? "1" : "0");

const baggageHeaders = ({ baggage }: TraceContext, prefix: string) =>
  Object.fromEntries([...baggage].map(([name, value]) => [`${prefix}${name}`, encodeURIComponent(value)]));

const result = (headers: Readonly<Record<string, string>>, name: string, value: string): InjectedHeaders => ({
  headers,
  loggedId: { name, value },
});

function b3(context: Identified): InjectedHeaders {
  const traceId = sized(context, [TRACE_DIGITS, SHORT_DIGITS]);
  const { spanId, parentId, b3Flags, sampled } = context;
  const headers = {
    "x-b3-traceid": traceId,
    "x-b3-spanid": spanId,
    ...(parentId !== null && { "x-b3-parentspanid": parentId }),
    ...(b3Flags === null ? { "x-b3-sampled": bit(sampled) } : { "x-b3-flags": b3Flags }),
  };
  return result(headers, "b3", traceId);
}

function b3Single(context: Identified): InjectedHeaders {
  const traceId = sized(context, [TRACE_DIGITS, SHORT_DIGITS]);
  const { spanId, parentId, b3Flags, sampled } = context;
  const decision = b3Flags === "1" ? "d" : sampled === null ? null : bit(sampled);
  const parts = [traceId, spanId, decision, parentId].filter((part) => part !== null);
  return result({ b3: parts.join("-") }, "b3", traceId);
}

function jaeger(context: Identified): InjectedHeaders {
  const traceId = sized(context, [TRACE_DIGITS, SHORT_DIGITS]);
  const { spanId, parentId, sampled } = context;
  const value = `${traceId}:${spanId}:${parentId ?? "0"}:0${bit(sampled)}`;
  return result({ "uber-trace-id": value, ...baggageHeaders(context, "uberctx-") }, "jaeger", traceId);
}

function ot(context: Identified): InjectedHeaders {
  const traceId = sized(context, [SHORT_DIGITS, TRACE_DIGITS]);
  const headers = {
    "ot-tracer-traceid": traceId,
    "ot-tracer-spanid": context.spanId,
    ...(context.sampled !== null && { "ot-tracer-sampled": bit(context.sampled) }),
    ...baggageHeaders(context, "ot-baggage-"),
  };
  return result(headers, "ot", traceId);
}

function datadog(context: Identified): InjectedHeaders {
  const traceId = decimalOfHex(idOfLength(context.traceId, SHORT_DIGITS));
  const headers = {
    "x-datadog-trace-id": traceId,
    "x-datadog-parent-id": decimalOfHex(context.spanId),
    ...(context.sampled !== null && { "x-datadog-sampling-priority": bit(context.sampled) }),
  };
  return result(headers, "datadog", traceId);
}

const writers: Readonly<Record<TraceFormat, (context: Identified) => InjectedHeaders>> = {
  w3c: (context) =>
    result(
      { traceparent: formatTraceParent({ ...context, sampled: context.sampled === true }) },
      "w3c",
      context.traceId,
    ),
  b3,
  "b3-single": b3Single,
  jaeger,
  ot,
  datadog,
  aws: (context) => {
    const root = `1-${context.traceId.slice(0, 8)}-${context.traceId.slice(8)}`;
    const value = `Root=${root};Parent=${context.spanId};Sampled=${bit(context.sampled)}`;
    return result({ "x-amzn-trace-id": value }, "aws", context.traceId);
  },
  gcp: (context) => {
    const value = `${context.traceId}/${decimalOfHex(context.spanId)};o=${bit(context.sampled)}`;
    return result({ "x-cloud-trace-context": value }, "gcp", context.traceId);
  },
};

export const injectedHeaders = (context: Identified, format: TraceFormat): InjectedHeaders => writers[format](context);
