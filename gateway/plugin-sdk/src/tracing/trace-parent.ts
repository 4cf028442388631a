/** The header `traceparent` (W3C Trace Context, section 3.2). */

export interface TraceParent {
  /** 32 hex digits. */
  readonly traceId: string;
  /** 16 hex digits: the sender's span. */
  readonly spanId: string;
  readonly sampled: boolean;
}

const FORM = /^([\da-f]{2})-([\da-f]{32})-([\da-f]{16})-([\da-f]{2})(-.*)?$/;
const NO_TRACE = "0".repeat(32);
const NO_SPAN = "0".repeat(16);
const SAMPLED = 1;

/** The values in the header; null if it is invalid, as several joined headers are. */
export function parseTraceParent(header: string): TraceParent | null {
  const [, version = "ff", traceId = NO_TRACE, spanId = NO_SPAN, flags = "00", more] = FORM.exec(header) ?? [];
  if (version === "ff" || traceId === NO_TRACE || spanId === NO_SPAN) return null;
  // Later versions may append fields; version 00 may not.
  if (version === "00" && more !== undefined) return null;
  return { traceId, spanId, sampled: (Number.parseInt(flags, 16) & SAMPLED) !== 0 };
}

export const formatTraceParent = ({ traceId, spanId, sampled }: TraceParent): string =>
  `00-${traceId}-${spanId}-0${sampled ? SAMPLED : 0}`;

/** The trace id in the header; undefined if the header is absent or invalid. */
export const traceIdOf = (header: string | undefined): string | undefined =>
  header === undefined ? undefined : parseTraceParent(header)?.traceId;
