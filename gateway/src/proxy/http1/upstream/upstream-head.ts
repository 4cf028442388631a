/** Request heads for the upstream. */

import { CachedLineHeaderName } from "@sluice/plugin-sdk";
import type { UpstreamTarget } from "../../../compile/runtime.ts";
import type { ForwardPlan, LiveExchange } from "../../exchange/live-exchange.ts";
import {
  addGatewayUpstreamHeaders,
  isStrippedHeader,
  upstreamHostFor,
  withTargetHost,
} from "../../headers/upstream-headers.ts";
import type { Pipeline } from "../../pipeline.ts";
import { type DropTable, HeadText, passedLines } from "../head-text.ts";
import { knownFieldIds } from "../parse/field-names.ts";
import { SectionHead } from "../section-head.ts";

export interface UpstreamHeadParts {
  readonly forward: ForwardPlan;
  readonly target: UpstreamTarget;
  /** Protocol to upgrade to; null: none. */
  readonly protocol: string | null;
}

/** Returns a function that writes the head of an exchange's request. */
export function createUpstreamHeads(pipeline: Pipeline) {
  const { style } = pipeline;
  const dropped: DropTable = new Uint8Array(256);
  for (const [name, id] of Object.entries(knownFieldIds)) {
    if (isStrippedHeader(name) || style.names.all.has(name)) dropped[id] = 1;
  }

  /** Shared builder: heads are written one at a time. */
  const lines = new HeadText();

  /** The head of a request that this engine read: copies the client's lines. */
  function copiedHead(head: SectionHead, exchange: LiveExchange, { forward, target, protocol }: UpstreamHeadParts) {
    const edits = exchange.upstreamEdits;
    lines.begin(`${forward.method} ${forward.path} HTTP/1.1`, edits);
    lines.add(HOST, upstreamHostFor(exchange, target));
    addGatewayUpstreamHeaders(lines, exchange, style);
    let text = lines.end(passedLines(head.fields, dropped, edits));
    if (protocol !== null) return `${text}Connection: Upgrade\r\nUpgrade: ${protocol}\r\n\r\n`;
    const { body } = exchange;
    text += exchange.request.takesTrailers ? WITH_TRAILERS : "Connection: keep-alive\r\n";
    if (body === null) {
      return head.declaresEmpty || needsLength(forward) ? `${text}Content-Length: 0\r\n\r\n` : `${text}\r\n`;
    }
    return body.length === null
      ? `${text}Transfer-Encoding: chunked\r\n\r\n`
      : `${text}Content-Length: ${body.length}\r\n\r\n`;
  }

  /**
   * The head of a request that Node parsed. TE and a known Content-Length are in the pipeline's list.
   */
  function listedHead(exchange: LiveExchange, { forward, target, protocol }: UpstreamHeadParts): string {
    const { body, request } = exchange;
    const list = withTargetHost(target, pipeline.upstreamHeaders(exchange), exchange);
    let text = `${forward.method} ${forward.path} HTTP/1.1\r\n`;
    for (let at = 0; at < list.length; at += 2) text += `${list[at]}: ${list[at + 1]}\r\n`;
    if (protocol !== null) return `${text}Connection: Upgrade\r\nUpgrade: ${protocol}\r\n\r\n`;
    text += request.takesTrailers ? "Connection: keep-alive, TE\r\n" : "Connection: keep-alive\r\n";
    if (body === null) return needsLength(forward) ? `${text}Content-Length: 0\r\n\r\n` : `${text}\r\n`;
    return body.length === null ? `${text}Transfer-Encoding: chunked\r\n\r\n` : `${text}\r\n`;
  }

  return function upstreamHead(exchange: LiveExchange, parts: UpstreamHeadParts): string {
    const { head } = exchange.request;
    return head instanceof SectionHead ? copiedHead(head, exchange, parts) : listedHead(exchange, parts);
  };
}

export type UpstreamHeads = ReturnType<typeof createUpstreamHeads>;

const HOST = new CachedLineHeaderName("Host");

/** TE is hop-by-hop, so Connection has to list it (RFC 9110 section 10.1.4). */
const WITH_TRAILERS = "TE: trailers\r\nConnection: keep-alive, TE\r\n";

/** Whether the method usually has a body: if there is none, `Content-Length: 0` is sent (RFC 9110 section 8.6). */
const needsLength = ({ method }: ForwardPlan): boolean => method === "POST" || method === "PUT" || method === "PATCH";
