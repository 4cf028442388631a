/** A request's head for the pipeline, backed by the connection's parser, which is not reset during the request. */
import type { GatewayErrorName } from "../../exchange/gateway-errors.ts";
import type { ClientBody } from "../client/client-body.ts";
import type { ConnectionPeer } from "../client/open-connection.ts";
import { parseErrorOf } from "./parse/faults.ts";
import type { FieldSection } from "./parse/fields.ts";
import { methodNames } from "./parse/head-parser.ts";
import type { RequestHeadParser as ParsedHead } from "./parse/request-head.ts";
import { SectionHead } from "./section-head.ts";

export class ClientHead extends SectionHead {
  readonly method: string;
  readonly target: string;
  readonly httpVersion: string;
  /** Always null: the parser rejects invalid heads first. */
  readonly fault = null;
  readonly peer: ConnectionPeer;
  readonly body: ClientBody | null;
  readonly declaresEmpty: boolean;
  readonly fields: FieldSection;

  constructor(parsed: ParsedHead, peer: ConnectionPeer, body: ClientBody | null) {
    super();
    const { fields, methodStart, methodEnd, targetEnd } = parsed;
    const { bytes } = fields;
    this.method =
      parsed.method === 0 ? bytes.toString("latin1", methodStart, methodEnd) : (methodNames[parsed.method] ?? "");
    this.target = bytes.toString("latin1", methodEnd + 1, targetEnd);
    this.httpVersion = parsed.minorVersion === 1 ? "1.1" : "1.0";
    this.peer = peer;
    this.body = body;
    this.declaresEmpty = parsed.contentLength === 0;
    this.fields = fields;
  }
}

/** Whether the client asks for WebSocket. Other upgrades are ignored, as if not requested (RFC 9110 section 7.8). */
export const isWebSocket = (head: ClientHead): boolean =>
  head.method === "GET" && head.body === null && head.header("upgrade")?.toLowerCase() === "websocket";

/** Gateway errors for heads that cannot be parsed, by the status of the parse fault. */
const errorsByStatus: Readonly<Record<number, GatewayErrorName>> = {
  400: "badRequest",
  414: "targetTooLong",
  431: "headTooLarge",
  501: "unknownCoding",
  505: "unknownVersion",
};

/** @param result Negative result of the parser */
export const gatewayErrorOfHead = (result: number): GatewayErrorName =>
  errorsByStatus[parseErrorOf(result).status] ?? "badRequest";
