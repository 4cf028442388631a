/** Heads of HTTP/2 requests for HTTP/1.1 upstreams. */

import type { LiveExchange } from "../../exchange/live-exchange.ts";
import { withTargetHost } from "../../headers/upstream-headers.ts";
import type { HeadParts, UpstreamHeads } from "../../http1/upstream/upstream-head.ts";
import type { Pipeline } from "../../pipeline.ts";
import type { StreamHead } from "../stream-head.ts";

/** Methods that declare the length even of an empty body (RFC 9110 section 8.6). */
const SENDING: ReadonlySet<string> = new Set(["POST", "PUT", "PATCH"]);

export const createUpstreamTexts =
  (pipeline: Pipeline): UpstreamHeads<StreamHead> =>
  (exchange, parts) => {
    const { method, path } = parts.forward;
    let text = `${method} ${path} HTTP/1.1\r\n`;
    const headers = withTargetHost(parts.target, pipeline.upstreamHeaders(exchange), exchange);
    for (let at = 0; at < headers.length; at += 2) text += `${headers[at]}: ${headers[at + 1]}\r\n`;
    // TE itself is among the headers.
    const connection = exchange.request.takesTrailers ? "keep-alive, TE" : "keep-alive";
    return `${text}Connection: ${connection}\r\n${framing(exchange, parts)}\r\n`;
  };

/** A known Content-Length is among the headers. */
function framing({ body }: LiveExchange, { forward }: HeadParts<StreamHead>): string {
  if (body === null) return SENDING.has(forward.method) ? "Content-Length: 0\r\n" : "";
  return body.length === null ? "Transfer-Encoding: chunked\r\n" : "";
}
