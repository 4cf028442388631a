/** The headers that the upstream gets (kong-contract 2.3, house decision 13). */
import type { Target } from "../runtime/runtime.ts";
import { VIA } from "./client-headers.ts";
import { HeaderName, UsualHeaderName } from "./header-name.ts";
import { connectionNames, foldedName, type HeaderStyle, hopByHop } from "./header-names.ts";
import { HeaderList, type HeaderSink } from "./header-sink.ts";
import type { LiveExchange } from "./live-exchange.ts";
import { escapePath } from "./path.ts";
import type { IncomingRequest } from "./request.ts";

/** Sent by the proxy in its own words, or not at all. */
const replaced: ReadonlySet<string> = new Set([
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
  "x-anonymous-consumer",
]);

/** Flat: name, value, name, value. Host is the first. */
export function upstreamHeaders(exchange: LiveExchange, style: HeaderStyle): readonly string[] {
  const { request, body } = exchange;
  const { rawHeaders } = request.head;
  const listed = connectionNames(request.header("connection"));
  const list = new HeaderList();
  const { headers } = list;
  headers.push("Host", hostFor(exchange, null));
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at] ?? "";
    const lower = name.toLowerCase();
    const folded = foldedName(lower);
    if (isReplacedName(folded) || style.names.all.has(folded) || listed?.has(lower)) continue;
    headers.push(name, rawHeaders[at + 1] ?? "");
  }
  if (body !== null && body.length !== null) headers.push("Content-Length", String(body.length));
  tellUpstream(list, exchange, style);
  if (request.takesTrailers) headers.push("TE", "trailers");
  return exchange.editUpstream(headers);
}

const FOR = new UsualHeaderName("X-Forwarded-For");
const PROTO = new UsualHeaderName("X-Forwarded-Proto");
const FORWARDED_HOST = new UsualHeaderName("X-Forwarded-Host");
const PORT = new UsualHeaderName("X-Forwarded-Port");
const PATH = new HeaderName("X-Forwarded-Path");
const PREFIX = new UsualHeaderName("X-Forwarded-Prefix");
const REAL_IP = new UsualHeaderName("X-Real-IP");

/** What the proxy tells of itself and of the client, without what is about one connection (TE). */
export function tellUpstream(sink: HeaderSink, exchange: LiveExchange, { names, gateway }: HeaderStyle): void {
  const { request } = exchange;
  const before = request.header("x-forwarded-for");
  const { peerAddress } = request;
  sink.add(FOR, before === undefined ? peerAddress : `${before}, ${peerAddress}`);
  sink.add(PROTO, request.scheme);
  sink.add(FORWARDED_HOST, believed(request, "x-forwarded-host") ?? nameOf(request.host));
  sink.add(PORT, believed(request, "x-forwarded-port") ?? String(request.head.port));
  sink.add(PATH, believed(request, "x-forwarded-path") ?? request.target.sentPath);
  const prefix = believed(request, "x-forwarded-prefix") ?? strippedPrefix(exchange);
  if (prefix !== null) sink.add(PREFIX, prefix);
  sink.add(REAL_IP, request.clientAddress);
  const hops = request.header("via");
  if (gateway !== null) {
    const own = `${request.head.httpVersion} ${gateway}`;
    sink.add(VIA, hops === undefined ? own : `${hops}, ${own}`);
  } else if (hops !== undefined) sink.add(VIA, hops);
  sink.add(names.requestId, exchange.id);
}

/** Whether a header of the client's (in lower case) stays behind, in whatever spelling an upstream may take for it. */
export const isReplaced = (lower: string): boolean => isReplacedName(foldedName(lower));

const isReplacedName = (folded: string): boolean =>
  replaced.has(folded) || folded.startsWith("x-consumer-") || folded.startsWith("x-credential-");

const believed = (request: IncomingRequest, name: string): string | undefined =>
  request.trusted ? request.header(name) : undefined;

/**
 * The Host of one try: the client's if the route preserves it, else the target's own or the upstream's.
 *
 * @param target null: whichever is tried
 */
export function hostFor({ part, request }: LiveExchange, target: Target | null): string {
  if (part.upstream === null || (part.route.preserve_host && request.host !== "")) return request.host;
  return target?.hostHeader ?? part.upstream.host;
}

const nameOf = (host: string): string => {
  const colon = host.lastIndexOf(":");
  return colon < 0 || host.indexOf("]", colon) > 0 ? host : host.slice(0, colon);
};

function strippedPrefix({ part, match, request }: LiveExchange): string | null {
  if (!part.route.strip_path || match.matchedPath === 0) return null;
  const prefix = request.path.slice(0, match.matchedPath);
  if (prefix === "/") return null;
  // What a client sent as %0D%0A is a line break here.
  return request.target.plain ? prefix : escapePath(prefix);
}
