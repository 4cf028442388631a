/** Request heads for the upstream. */

import type { UpstreamTarget } from "../../../compile/runtime.ts";
import { CachedLineHeaderName } from "../../../exchange/header-name.ts";
import type { ForwardPlan, LiveExchange } from "../../exchange/live-exchange.ts";
import type { HeaderStyle } from "../../headers/header-names.ts";
import {
  addGatewayUpstreamHeaders,
  isStrippedHeader,
  upstreamHostFor,
  withTargetHost,
} from "../../headers/upstream-headers.ts";
import type { ClientHead } from "../client-head.ts";
import { type DropTable, HeadText, passedLines } from "../head-text.ts";
import { known } from "../parse/names.ts";

export function createUpstreamHeads(style: HeaderStyle): UpstreamHeads<ClientHead> {
  const dropped: DropTable = new Uint8Array(256);
  for (const [name, id] of Object.entries(known)) {
    if (isStrippedHeader(name) || style.names.all.has(name)) dropped[id] = 1;
  }

  /** Shared builder: heads are written one at a time. */
  const lines = new HeadText();

  return function upstreamHead(exchange, { forward, head, target, protocol }): string {
    const edits = exchange.upstreamEdits;
    lines.begin(`${forward.method} ${forward.path} HTTP/1.1`, edits);
    lines.add(HOST, upstreamHostFor(exchange, target));
    addGatewayUpstreamHeaders(lines, exchange, style);
    let text = lines.end(passedLines(head.fields, dropped, edits));
    if (protocol !== null) return `${text}Connection: Upgrade\r\nUpgrade: ${protocol}\r\n\r\n`;
    const { body } = exchange;
    text += exchange.request.takesTrailers ? WITH_TRAILERS : "Connection: keep-alive\r\n";
    if (body === null)
      return head.declaresEmpty || needsLength(forward) ? `${text}Content-Length: 0\r\n\r\n` : `${text}\r\n`;
    return body.length === null
      ? `${text}Transfer-Encoding: chunked\r\n\r\n`
      : `${text}Content-Length: ${body.length}\r\n\r\n`;
  };
}

const HOST = new CachedLineHeaderName("Host");

/** TE is hop-by-hop, so Connection has to list it (RFC 9110 section 10.1.4). */
const WITH_TRAILERS = "TE: trailers\r\nConnection: keep-alive, TE\r\n";

/** @typeParam Head Type of the client's head */
export type UpstreamHeads<Head> = (exchange: LiveExchange, parts: HeadParts & { readonly head: Head }) => string;

export interface HeadParts {
  readonly forward: ForwardPlan;
  readonly target: UpstreamTarget;
  /** Protocol to upgrade to; null: none. */
  readonly protocol: string | null;
}

/** A declared empty body stays declared (RFC 9110 section 8.6). */
const needsLength = ({ method }: ForwardPlan): boolean => method === "POST" || method === "PUT" || method === "PATCH";

/**
 * The head from the pipeline's list of headers, for clients whose heads have no bytes of HTTP/1.1.
 *
 * @param headers Contains TE and a known Content-Length
 */
export function listedUpstreamHead(
  headers: readonly string[],
  exchange: LiveExchange,
  { forward, target, protocol }: HeadParts,
): string {
  const { body, request } = exchange;
  const list = withTargetHost(target, headers, exchange);
  let text = `${forward.method} ${forward.path} HTTP/1.1\r\n`;
  for (let at = 0; at < list.length; at += 2) text += `${list[at]}: ${list[at + 1]}\r\n`;
  if (protocol !== null) return `${text}Connection: Upgrade\r\nUpgrade: ${protocol}\r\n\r\n`;
  text += request.takesTrailers ? "Connection: keep-alive, TE\r\n" : "Connection: keep-alive\r\n";
  if (body === null) return needsLength(forward) ? `${text}Content-Length: 0\r\n\r\n` : `${text}\r\n`;
  return body.length === null ? `${text}Transfer-Encoding: chunked\r\n\r\n` : `${text}\r\n`;
}
