/** Builds the request headers for the upstream (docs/reference/kong-compatibility.md#headers). */

import { CachedLineHeaderName, escapePath, foldedName, HeaderName } from "@sluice/plugin-sdk";
import type { UpstreamTarget } from "../../compile/runtime.ts";
import type { LiveExchange } from "../exchange/live-exchange.ts";
import type { IncomingRequest } from "../exchange/request.ts";
import { VIA } from "./client-headers.ts";
import {
  connectionNames,
  HeaderList,
  type HeaderSink,
  type HeaderStyle,
  hopByHop,
  isIdentityName,
} from "./header-names.ts";

/** The proxy writes these headers itself, or does not send them. */
const strippedNames: ReadonlySet<string> = new Set([
  ...hopByHop,
  "host",
  "content-length",
  "expect",
  "proxy",
  "via",
  "x-forwarded-for",
  "x-forwarded-proto",
  "x-forwarded-host",
  "x-forwarded-port",
  "x-forwarded-path",
  "x-forwarded-prefix",
  "x-real-ip",
]);

/** Flat list: name, value, name, value. Host comes first. */
export function upstreamHeaders(exchange: LiveExchange, style: HeaderStyle): readonly string[] {
  const { request, body } = exchange;
  const { rawHeaders } = request.head;
  const listed = connectionNames(request.header("connection"));
  const list = new HeaderList();
  const { headers } = list;
  headers.push("Host", upstreamHostFor(exchange, null));
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at] ?? "";
    const lower = name.toLowerCase();
    const folded = foldedName(lower);
    if (isStrippedName(folded) || style.names.all.has(folded) || listed?.has(lower)) continue;
    headers.push(name, rawHeaders[at + 1] ?? "");
  }
  if (body !== null && body.length !== null) headers.push("Content-Length", String(body.length));
  addGatewayUpstreamHeaders(list, exchange, style);
  if (request.takesTrailers) headers.push("TE", "trailers");
  return exchange.applyUpstreamEdits(headers);
}

const FOR = new CachedLineHeaderName("X-Forwarded-For");
const PROTO = new CachedLineHeaderName("X-Forwarded-Proto");
const FORWARDED_HOST = new CachedLineHeaderName("X-Forwarded-Host");
const PORT = new CachedLineHeaderName("X-Forwarded-Port");
const PATH = new HeaderName("X-Forwarded-Path");
const PREFIX = new CachedLineHeaderName("X-Forwarded-Prefix");
const REAL_IP = new CachedLineHeaderName("X-Real-IP");

/** Adds headers about the gateway and the client, except hop-by-hop ones (TE). */
export function addGatewayUpstreamHeaders(
  sink: HeaderSink,
  exchange: LiveExchange,
  { names, gateway }: HeaderStyle,
): void {
  const { request } = exchange;
  const before = request.header("x-forwarded-for");
  const { peerAddress } = request;
  sink.add(FOR, before === undefined ? peerAddress : `${before}, ${peerAddress}`);
  sink.add(PROTO, request.scheme);
  sink.add(FORWARDED_HOST, trustedHeader(request, "x-forwarded-host") ?? nameOf(request.host));
  sink.add(PORT, trustedHeader(request, "x-forwarded-port") ?? String(portOf(exchange)));
  sink.add(PATH, trustedHeader(request, "x-forwarded-path") ?? request.target.sentPath);
  const prefix = trustedHeader(request, "x-forwarded-prefix") ?? strippedPrefix(exchange);
  if (prefix !== null) sink.add(PREFIX, prefix);
  sink.add(REAL_IP, request.clientAddress);
  const hops = request.header("via");
  if (gateway !== null) {
    const own = `${request.head.httpVersion} ${gateway}`;
    sink.add(VIA, hops === undefined ? own : `${hops}, ${own}`);
  } else if (hops !== undefined) sink.add(VIA, hops);
  sink.add(names.requestId, exchange.id);
}

/** The port to which the client connected. On a port of the document, it is the port that clients of the Gateway use. */
function portOf({ request, runtime }: LiveExchange): number {
  const { port, documentPort } = request.head.peer;
  if (documentPort === null) return port;
  return runtime.listeners.listenerFor(request)?.public_port ?? port;
}

/**
 * Whether a client's header (name in lower case) is dropped. Names that upstreams may confuse with a dropped one are
 * dropped too.
 */
export const isStrippedHeader = (lower: string): boolean => isStrippedName(foldedName(lower));

const isStrippedName = (folded: string): boolean => strippedNames.has(folded) || isIdentityName(folded);

const trustedHeader = (request: IncomingRequest, name: string): string | undefined =>
  request.trusted ? request.header(name) : undefined;

/**
 * The Host of one attempt: the client's if the route preserves it or has no service, else the target's or the
 * upstream's.
 *
 * @param target Null: the target's own Host is ignored; `withTargetHost` inserts it later
 */
export function upstreamHostFor({ compiledRoute, request }: LiveExchange, target: UpstreamTarget | null): string {
  if (compiledRoute.upstream === null || (compiledRoute.route.preserve_host && request.host !== ""))
    return request.host;
  return target?.hostHeader ?? compiledRoute.upstream.host;
}

/** The forwarded headers with the target's Host, unless the client's is preserved or a plugin has set it. */
export function withTargetHost(
  target: UpstreamTarget,
  headers: readonly string[],
  { compiledRoute, request }: LiveExchange,
): readonly string[] {
  if (target.hostHeader === null || headers[0] !== "Host") return headers;
  if (compiledRoute.route.preserve_host && request.host !== "") return headers;
  return ["Host", target.hostHeader, ...headers.slice(2)];
}

const nameOf = (host: string): string => {
  const colon = host.lastIndexOf(":");
  return colon < 0 || host.indexOf("]", colon) > 0 ? host : host.slice(0, colon);
};

/** The prefix of the path that `strip_path` removes, as it was sent; null: none. */
export function strippedPrefix({ compiledRoute, match, request }: LiveExchange): string | null {
  if (!compiledRoute.route.strip_path || match.matchedPath === 0) return null;
  const prefix = request.path.slice(0, match.matchedPath);
  if (prefix === "/") return null;
  // Escaped again: a client's %0D%0A has been decoded to a line break.
  return request.target.plain ? prefix : escapePath(prefix);
}
