/** Response heads for the client. */

import type { LiveExchange } from "../exchange/live-exchange.ts";
import { addGatewayClientHeaders, passedHeaders } from "../headers/client-headers.ts";
import { type HeaderStyle, hopByHop } from "../headers/header-names.ts";
import { currentDate } from "../response/current-date.ts";
import type { GatewayResponse } from "../response/gateway-response.ts";
import { STATUS_CODES } from "../response/reason-phrases.ts";
import { type DropTable, HeadText, passedLines } from "./head-text.ts";
import { knownFieldIds } from "./parse/field-names.ts";
import { headerOf, indexOf } from "./parse/fields.ts";
import type { ResponseHeadParser } from "./parse/response-head.ts";

/** The line of the Connection header, followed by that of Upgrade if the protocol is switched; may be empty. */
export type Framing = "" | "Connection: close\r\n" | "Connection: keep-alive\r\n" | `Connection: Upgrade\r\n${string}`;

export const CHUNKED = "Transfer-Encoding: chunked\r\n";

const NO_CONTENT = 204;

export interface ResponseParts {
  readonly head: ResponseHeadParser;
  readonly connection: Framing;
  readonly chunked: boolean;
  /** Whether the client receives trailers. */
  readonly trailers: boolean;
}

/** Fields of an upstream's response that are not forwarded: those of the connection, and those that the gateway sends. */
export function droppedFromResponses({ names }: HeaderStyle): DropTable {
  const dropped: DropTable = new Uint8Array(256);
  for (const [name, id] of Object.entries(knownFieldIds)) {
    if (hopByHop.has(name) || name === "via" || names.all.has(name)) dropped[id] = 1;
  }
  return dropped;
}

export function createResponseHeads(style: HeaderStyle) {
  const dropped = droppedFromResponses(style);
  const droppedWithLength = dropped.slice();
  droppedWithLength[knownFieldIds["content-length"]] = 1;

  /** Shared builder: heads are written one at a time. */
  const lines = new HeadText();

  /** Head of an upstream's response. */
  function response(exchange: LiveExchange, { head, connection, chunked, trailers }: ResponseParts): string {
    const { fields, status } = head;
    const edits = exchange.responseEdits;
    const table = status === NO_CONTENT || chunked ? droppedWithLength : dropped;
    lines.begin(statusLine(status, fields.bytes.toString("latin1", head.reasonStart, head.reasonEnd)), edits);
    addGatewayClientHeaders(lines, exchange, { hops: headerOf(fields, "via"), style });
    let text = lines.end(passedLines(fields, table, edits));
    if (indexOf(fields, "date") < 0) text += dateLine();
    if (trailers) text += trailerLine(head);
    if (chunked) text += CHUNKED;
    return `${text}${connection}\r\n`;
  }

  /** Head of a response that a plugin has kept from an upstream. */
  function kept(exchange: LiveExchange, { status, headers }: GatewayResponse, connection: Framing): string {
    const edits = exchange.responseEdits;
    const passed = passedHeaders(exchange, headers, style);
    lines.begin(statusLine(status, ""), edits);
    addGatewayClientHeaders(lines, exchange, { hops: passed.hops, style });
    let text = "";
    let isDated = edits !== null && (edits.editOf("date")?.values.length ?? 0) > 0;
    for (let at = 0; at < passed.headers.length; at += 2) {
      const name = passed.headers[at] ?? "";
      if (edits?.mayReplace(name.length) && edits.replaces(name.toLowerCase())) continue;
      isDated ||= isDate(name);
      text += `${name}: ${passed.headers[at + 1]}\r\n`;
    }
    return `${lines.end(text)}${isDated ? "" : dateLine()}${connection}\r\n`;
  }

  /**
   * Head of an interim response (RFC 9110 section 15.2), without hop-by-hop fields, Content-Length, Via and the
   * gateway's own headers.
   */
  const interim = ({ fields, status, reasonStart, reasonEnd }: ResponseHeadParser): string =>
    `${statusLine(status, fields.bytes.toString("latin1", reasonStart, reasonEnd))}\r\n${passedLines(fields, droppedWithLength, null)}\r\n`;

  return { response, kept, interim };
}

export type ResponseHeads = ReturnType<typeof createResponseHeads>;

/** The line of the upstream's Trailer header, which is dropped as hop-by-hop but sent again with forwarded trailers. */
function trailerLine({ fields }: ResponseHeadParser): string {
  const value = headerOf(fields, "trailer");
  return value === undefined ? "" : `Trailer: ${value}\r\n`;
}

/** Without its line end. */
const statusLine = (status: number, reason: string): string =>
  `HTTP/1.1 ${status} ${reason === "" ? (STATUS_CODES[status] ?? "") : reason}`;

/** A complete response that the gateway itself generated. `bodiless`: true for a HEAD request. */
export function gatewayResponseText(
  response: GatewayResponse,
  { connection, bodiless }: { readonly connection: Framing; readonly bodiless: boolean },
): string {
  const head = gatewayResponseHead(response, connection);
  return bodiless ? head : head + Buffer.from(response.body).toString("latin1");
}

/** The head of a response that the gateway itself generated. */
export function gatewayResponseHead(
  { status, headers }: Pick<GatewayResponse, "status" | "headers">,
  connection: Framing,
): string {
  let text = statusLine(status, "");
  let isDated = false;
  for (let at = 0; at < headers.length; at += 2) {
    const name = headers[at] ?? "";
    isDated ||= isDate(name);
    text += `\r\n${name}: ${headers[at + 1]}`;
  }
  return `${text}\r\n${isDated ? "" : dateLine()}${connection}\r\n`;
}

const isDate = (name: string): boolean => name.length === "Date".length && name.toLowerCase() === "date";

/** The Date header as a line of a head. */
const dateLine = (): string => `Date: ${currentDate()}\r\n`;
