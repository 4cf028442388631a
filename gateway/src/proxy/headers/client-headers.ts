/** Builds the response headers for the client (docs/reference/kong-compatibility.md#headers). */

import { CachedLineHeaderName } from "@sluice/plugin-sdk";
import type { LiveExchange } from "../exchange/live-exchange.ts";
import { connectionNames, HeaderList, type HeaderSink, type HeaderStyle, hopByHop } from "./header-names.ts";
import { headerText, type RawHeaders } from "./raw-headers.ts";

/** A 204 has no Content-Length (RFC 9110 section 8.6). */
const NO_CONTENT = 204;

/** The headers of a response that are sent to the client. */
export interface PassedHeaders {
  /** Flat list; the caller may append to it. */
  readonly headers: string[];
  /** The response's Via, to which the gateway adds itself. Undefined: it has none. */
  readonly hops: string | undefined;
}

/** Leaves out headers of the connection, and those that the gateway sends itself. */
export function passedHeaders(exchange: LiveExchange, raw: RawHeaders, { names }: HeaderStyle): PassedHeaders {
  const headers: string[] = [];
  let hops: string | undefined;
  const trailers = exchange.request.takesTrailers;
  let listed: ReadonlySet<string> | null = null;
  for (let at = 0; at < raw.length; at += 2) {
    const name = headerText(raw[at]);
    const lower = name.toLowerCase();
    const value = headerText(raw[at + 1]);
    if (lower === "connection") listed = connectionNames(value);
    else if (lower === "via") hops = hops === undefined ? value : `${hops}, ${value}`;
    else if (lower === "content-length" && exchange.status === NO_CONTENT) continue;
    else if (!names.all.has(lower) && (!hopByHop.has(lower) || (trailers && lower === "trailer"))) {
      headers.push(name, value);
    }
  }
  return { headers: listed === null ? headers : without(headers, listed), hops };
}

/** Flat list, after the plugins' edits. The engine adds framing headers (Connection, Transfer-Encoding). */
export function clientHeaders(exchange: LiveExchange, raw: RawHeaders, style: HeaderStyle): readonly string[] {
  const { headers, hops } = passedHeaders(exchange, raw, style);
  const list = new HeaderList(headers);
  addGatewayClientHeaders(list, exchange, { hops, style });
  return exchange.applyResponseEdits(list.headers);
}

export const VIA = new CachedLineHeaderName("Via");

/** Adds the gateway's own headers. */
export function addGatewayClientHeaders(
  sink: HeaderSink,
  exchange: LiveExchange,
  { hops, style }: { /** The upstream's Via. */ readonly hops: string | undefined; readonly style: HeaderStyle },
): void {
  const { names, gateway, latencies } = style;
  if (gateway !== null) {
    const own = `${exchange.upstreamVersion} ${gateway}`;
    sink.add(VIA, hops === undefined ? own : `${hops}, ${own}`);
  } else if (hops !== undefined) sink.add(VIA, hops);
  if (latencies) {
    const { started, forwarded = started, answered = forwarded } = exchange.timings;
    sink.add(names.upstreamLatency, formatMilliseconds(answered - forwarded));
    sink.add(names.proxyLatency, formatMilliseconds(forwarded - started));
  }
  sink.add(names.requestId, exchange.id);
}

/** Rounded down, as in Kong. */
export const formatMilliseconds = (duration: number): string => String(Math.max(0, Math.floor(duration)));

const without = (headers: readonly string[], listed: ReadonlySet<string>): string[] => {
  const kept: string[] = [];
  for (let at = 0; at < headers.length; at += 2) {
    const name = headers[at] ?? "";
    if (!listed.has(name.toLowerCase())) kept.push(name, headers[at + 1] ?? "");
  }
  return kept;
};
