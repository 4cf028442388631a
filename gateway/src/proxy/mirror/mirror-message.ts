/** The message that a mirror receives: the head as it is forwarded, and the complete body. */
import type { ServiceUpstream, UpstreamTarget } from "../../compile/runtime.ts";
import type { ForwardPlan, LiveExchange } from "../exchange/live-exchange.ts";
import type { RequestParts } from "../http2/fields.ts";
import type { Pipeline } from "../pipeline.ts";

/** The head does not use memory of the client's connection, which may serve the next request before the copy is sent. */
export interface MirrorMessage extends RequestParts {
  readonly body: readonly Buffer[];
}

export interface MirroredHead {
  readonly exchange: LiveExchange;
  readonly forward: ForwardPlan;
  /** The upstream and the target that receive the copy. */
  readonly upstream: ServiceUpstream;
  readonly target: UpstreamTarget;
}

/** The headers are those of the forwarded request, without Content-Length. */
export function mirroredHead(
  { exchange, forward, upstream, target }: MirroredHead,
  pipeline: Pick<Pipeline, "upstreamHeaders">,
): RequestParts {
  const { route } = exchange;
  const list = pipeline.upstreamHeaders(exchange);
  const headers: string[] = [];
  const left = leftHeaders(forward.upstream, upstream);
  for (let at = 0; at < list.length; at += 2) {
    const name = list[at] ?? "";
    if (!left.has(name.toLowerCase())) headers.push(name, list[at + 1] ?? "");
  }
  // The Host header comes first, unless a plugin has set it.
  const isOwnHost = headers[0] === "Host" && !(route.preserve_host && exchange.request.host !== "");
  if (isOwnHost) headers[1] = target.hostHeader ?? upstream.host;
  return { method: forward.method, path: forward.path, scheme: target.scheme, headers };
}

/**
 * The names of headers that a copy does not have, in lower case: the headers that the forwarded request gets from its
 * service (`upstream_headers`) may be secrets between the gateway and this service.
 */
function leftHeaders(forwarded: ServiceUpstream, mirror: ServiceUpstream): ReadonlySet<string> {
  const left = new Set(["content-length"]);
  if (forwarded.service.id !== mirror.service.id)
    for (const { header } of forwarded.headers ?? []) left.add(header.lower);
  return left;
}

/** The head for HTTP/1.1. Trailers are discarded, so TE is left out. */
export function mirrorHeadText({ method, path, headers, body }: MirrorMessage): string {
  let text = `${method} ${path} HTTP/1.1\r\n`;
  for (let at = 0; at < headers.length; at += 2)
    if (headers[at]?.toLowerCase() !== "te") text += `${headers[at]}: ${headers[at + 1]}\r\n`;
  const length = body.reduce((sum, piece) => sum + piece.length, 0);
  if (length > 0 || !withoutBody.has(method)) text += `Content-Length: ${length}\r\n`;
  return `${text}Connection: keep-alive\r\n\r\n`;
}

/** Methods whose requests usually have no body (RFC 9110 section 8.6). */
const withoutBody: ReadonlySet<string> = new Set(["GET", "HEAD", "OPTIONS", "DELETE", "TRACE"]);
