/** The headers that the client gets with an upstream's response (kong-contract 2.3). */
import { connectionNames, type HeaderStyle, hopByHop, takesTrailers } from "./header-names.ts";
import type { LiveExchange } from "./live-exchange.ts";

/** Flat: name, value, name, value; bytes are Latin-1 as Node's parsers give them. */
export type RawHeaders = readonly (Buffer | string)[];

/** It has no length (RFC 9110 section 8.6). */
const NO_CONTENT = 204;

/** Flat, with the plugins' edits. Framing headers (Connection, Transfer-Encoding) are the engine's own. */
export function clientHeaders(exchange: LiveExchange, raw: RawHeaders, style: HeaderStyle): readonly string[] {
  const { names } = style;
  const headers: string[] = [];
  const hops: string[] = [];
  const trailers = takesTrailers(exchange.request);
  let listed: ReadonlySet<string> | null = null;
  for (let at = 0; at < raw.length; at += 2) {
    const name = text(raw[at]);
    const lower = name.toLowerCase();
    const value = text(raw[at + 1]);
    if (lower === "connection") listed = connectionNames(value);
    else if (lower === "via") hops.push(value);
    else if (lower === "content-length" && exchange.status === NO_CONTENT) continue;
    else if (!names.all.has(lower) && (!hopByHop.has(lower) || (trailers && lower === "trailer"))) {
      headers.push(name, value);
    }
  }
  headers.push(...ownClientHeaders(exchange, hops.length > 0 ? hops.join(", ") : undefined, style));
  return exchange.editResponse(listed === null ? headers : without(headers, listed));
}

/**
 * What the proxy tells of itself, flat.
 *
 * @param hops The upstream's Via
 */
export function ownClientHeaders(
  exchange: LiveExchange,
  hops: string | undefined,
  { names, gateway, latencies }: HeaderStyle,
): string[] {
  const headers: string[] = [];
  if (gateway !== null) {
    const own = `${exchange.upstreamVersion} ${gateway}`;
    headers.push("Via", hops === undefined ? own : `${hops}, ${own}`);
  } else if (hops !== undefined) headers.push("Via", hops);
  if (latencies) {
    const { started, forwarded = started, answered = forwarded } = exchange.timings;
    headers.push(names.upstreamLatency, milliseconds(answered - forwarded));
    headers.push(names.proxyLatency, milliseconds(forwarded - started));
  }
  headers.push(names.requestId, exchange.id);
  return headers;
}

/** Rounded down, as Kong's are. */
export const milliseconds = (duration: number): string => String(Math.max(0, Math.floor(duration)));

const text = (value: Buffer | string | undefined): string =>
  typeof value === "string" ? value : (value?.toString("latin1") ?? "");

const without = (headers: readonly string[], listed: ReadonlySet<string>): readonly string[] => {
  const kept: string[] = [];
  for (let at = 0; at < headers.length; at += 2) {
    const name = headers[at] ?? "";
    if (!listed.has(name.toLowerCase())) kept.push(name, headers[at + 1] ?? "");
  }
  return kept;
};
