/** Answers requests that Node's parser rejected: there is no request object, only a socket. */

import type { Socket } from "node:net";
import type { GatewayErrorName } from "../../exchange/gateway-errors.ts";
import type { GatewayResponse } from "../response/gateway-response.ts";
import { STATUS_CODES } from "../response/reason-phrases.ts";
import { errorCodeOf } from "../upstream/failure.ts";

const faultNames: Readonly<Record<string, GatewayErrorName>> = {
  HPE_HEADER_OVERFLOW: "headTooLarge",
  ERR_HTTP_REQUEST_TIMEOUT: "requestTimeout",
};

/** Writes the response itself and closes: later bytes on this connection cannot be framed. */
export function rejectHead(error: Error, socket: Socket, refuse: (fault: GatewayErrorName) => GatewayResponse): void {
  if (!socket.writable || isAnswering(socket)) {
    socket.destroy();
    return;
  }
  writeRejection(socket, refuse(faultNames[errorCodeOf(error)] ?? "badRequest"));
}

/** Writes the response on a bare socket and ends it. */
export function writeRejection(socket: Socket, { status, headers, body }: GatewayResponse): void {
  let head = `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\nConnection: close\r\n`;
  for (let at = 0; at < headers.length; at += 2) head += `${headers[at]}: ${headers[at + 1]}\r\n`;
  socket.end(`${head}\r\n${body}`);
}

/** Whether a response has begun on the socket; Node's own handler reads the same member. */
const isAnswering = (socket: Socket & { readonly _httpMessage?: { readonly headersSent: boolean } | null }): boolean =>
  socket._httpMessage?.headersSent === true;
