/** Writes responses to Node's response object, with header names in the case in which they were set. */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { GatewayErrorName } from "../../exchange/gateway-errors.ts";
import { gatewayResponseText } from "../http1/response-text.ts";
import type { GatewayResponse } from "../response/gateway-response.ts";
import { errorCodeOf } from "../upstream/failure.ts";

/** Milliseconds for which a client may continue to send a body that is discarded. */
const LINGER = 30_000;

export interface HeadToWrite {
  readonly status: number;
  readonly statusText: string;
  readonly headers: readonly string[];
  /** Whether the connection closes after this response. */
  readonly last: boolean;
}

export function writeHead(raw: ServerResponse, { status, statusText, headers, last }: HeadToWrite): void {
  // Node accepts flat lists; its types declare only the pairs of setHeader.
  const flat = (last ? [...headers, "Connection", "close"] : headers) as string[];
  if (PRINTABLE.test(statusText)) raw.writeHead(status, statusText, flat);
  else raw.writeHead(status, flat);
}

const PRINTABLE = /^[\t\x20-\x7e]+$/;

export function writeGatewayResponse(raw: ServerResponse, response: GatewayResponse, last: boolean): void {
  writeHead(raw, { status: response.status, statusText: "", headers: response.headers, last });
  raw.end(response.body);
}

/**
 * After an early response Node discards the rest of the body, so that the client can read the response. A client that
 * does not stop sending is disconnected.
 *
 * @param lingering Contains the request until it has been read or its connection has closed
 */
export function lingerUntilRead(incoming: IncomingMessage, lingering: Set<IncomingMessage>): void {
  if (incoming.complete || incoming.destroyed) return;
  const timer = setTimeout(() => incoming.socket.destroy(), LINGER).unref();
  lingering.add(incoming);
  incoming.once("close", () => {
    clearTimeout(timer);
    lingering.delete(incoming);
  });
}

const faultNames: Readonly<Record<string, GatewayErrorName>> = {
  HPE_HEADER_OVERFLOW: "headTooLarge",
  ERR_HTTP_REQUEST_TIMEOUT: "requestTimeout",
};

/**
 * Answers a request that Node's parser rejected, and closes the connection, because the start of the next request is
 * unknown.
 */
export function rejectHead(error: Error, socket: Socket, refuse: (fault: GatewayErrorName) => GatewayResponse): void {
  if (!socket.writable || isAnswering(socket)) {
    socket.destroy();
    return;
  }
  writeRejection(socket, refuse(faultNames[errorCodeOf(error)] ?? "badRequest"));
}

/** Writes the response directly to the socket, and ends the socket. */
export function writeRejection(socket: Socket, response: GatewayResponse): void {
  socket.end(gatewayResponseText(response, { connection: "Connection: close\r\n", bodiless: false }), "latin1");
}

/** The responses that are not complete, by their connection. */
const incomplete = new WeakMap<Socket, Set<ServerResponse>>();

/** Must be called for each request, so that `rejectHead` knows whether a response has begun. */
export function trackResponse(socket: Socket, response: ServerResponse): void {
  const responses = incomplete.getOrInsertComputed(socket, () => new Set());
  responses.add(response);
  response.once("close", () => responses.delete(response));
}

const isAnswering = (socket: Socket): boolean =>
  [...(incomplete.get(socket) ?? [])].some(({ headersSent }) => headersSent);
