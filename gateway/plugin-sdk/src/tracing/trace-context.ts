/** The context of a trace as headers carry it, whatever their format. */
import { randomBytes } from "node:crypto";

/** Formats of trace headers, by Kong's names. */
export const traceFormats = ["w3c", "b3", "b3-single", "jaeger", "ot", "datadog", "aws", "gcp"] as const;
export type TraceFormat = (typeof traceFormats)[number];

/** Formats of received headers: `b3` reads both forms of B3. */
export const receivedFormats = ["w3c", "b3", "jaeger", "ot", "datadog", "aws", "gcp"] as const;
export type ReceivedFormat = (typeof receivedFormats)[number];

export interface TraceContext {
  /** 32 hex digits; null: unknown. */
  readonly traceId: string | null;
  /** 16 hex digits: the span of the sender, or with `sharesSpan` the span of sender and receiver; null: unknown. */
  readonly spanId: string | null;
  /** 16 hex digits: the parent of `spanId`; null: none, or unknown. */
  readonly parentId: string | null;
  /** Whether the sender records the trace; null: it has not decided. */
  readonly sampled: boolean | null;
  /**
   * The size in bytes of the trace id as it was received, which is kept where a format allows several sizes. Null: no
   * trace id was received.
   */
  readonly traceIdBytes: number | null;
  /** Whether sender and receiver share one span (B3, Jaeger). */
  readonly sharesSpan: boolean;
  /** The value of `X-B3-Flags`; null: none. */
  readonly b3Flags: string | null;
  /** The decoded values of the baggage of Jaeger and OpenTracing, by names in lower case. */
  readonly baggage: ReadonlyMap<string, string>;
}

const none: ReadonlyMap<string, string> = new Map();

export const emptyContext: TraceContext = {
  traceId: null,
  spanId: null,
  parentId: null,
  sampled: null,
  traceIdBytes: null,
  sharesSpan: false,
  b3Flags: null,
  baggage: none,
};

/** An id of this many digits: the last ones of a longer id, or a shorter id padded with zeros at the start. */
export const idOfLength = (hex: string, digits: number): string =>
  hex.length > digits ? hex.slice(-digits) : hex.padStart(digits, "0");

export const TRACE_DIGITS = 32;
export const SPAN_DIGITS = 16;

export const hexOfDecimal = (decimal: string): string => BigInt(decimal).toString(16);
export const decimalOfHex = (hex: string): string => BigInt(`0x${hex}`).toString();

/** A random id of this many hex digits. */
export const randomId = (digits: number): string => randomBytes(digits / 2).toString("hex");
