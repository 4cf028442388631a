/** The head of a request whose fields are known as a list: it passes the same checks as one that a client sent. */
import type { GatewayErrorName } from "../../../exchange/gateway-errors.ts";
import type { ClientBody } from "../../client/client-body.ts";
import type { ConnectionPeer } from "../../client/open-connection.ts";
import type { HeadLimits } from "../../http1/parse/head-parser.ts";
import { HpackDecoder } from "../hpack/decoder.ts";
import { HpackEncoder } from "../hpack/encoder.ts";
import { FieldCollector } from "./field-collector.ts";
import type { StreamHead } from "./stream-head.ts";

export interface ListedHeadOptions {
  readonly peer: ConnectionPeer;
  readonly limits: HeadLimits;
  /** Creates the body; null: the request has none. `declared` is null without Content-Length. */
  readonly body: ((declared: number | null) => ClientBody) | null;
}

/**
 * @param flat Names and values with one character per byte, pseudo-header fields first
 * @returns The error for a malformed request, which the gateway does not answer but resets
 */
export function listedHead(
  flat: readonly string[],
  { peer, limits, body }: ListedHeadOptions,
): StreamHead | GatewayErrorName {
  const encoder = new HpackEncoder();
  encoder.begin();
  for (let at = 0; at < flat.length; at += 2) encoder.field(flat[at] ?? "", flat[at + 1] ?? "");
  const collector = new FieldCollector(limits);
  collector.begin(false);
  const block = Buffer.from(encoder.bytes.subarray(0, encoder.length));
  new HpackDecoder().decode(block, { start: 0, end: block.length }, collector);
  const ended = body === null;
  collector.checkRequest(ended);
  if (collector.isMalformed) return "badRequest";
  if (collector.isExcessive) return "headTooLarge";
  return collector.head({ peer, createBody: body });
}
