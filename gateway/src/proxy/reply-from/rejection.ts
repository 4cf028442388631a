/** Requests that Node's parser gave up on: there is no request object, only a socket. */

import type { Socket } from "node:net";
import type { FaultName } from "../faults.ts";
import type { OwnResponse } from "../own-response.ts";
import { STATUS_CODES } from "../status-texts.ts";
import { codeOf } from "../upstream/failure.ts";

const faultNames: Readonly<Record<string, FaultName>> = {
  HPE_HEADER_OVERFLOW: "headTooLarge",
  ERR_HTTP_REQUEST_TIMEOUT: "requestTimeout",
};

/** Answers by hand and closes: nothing on this connection can be trusted any more. */
export function rejectHead(error: Error, socket: Socket, refuse: (fault: FaultName) => OwnResponse): void {
  if (!socket.writable || isAnswering(socket)) {
    socket.destroy();
    return;
  }
  writeRejection(socket, refuse(faultNames[codeOf(error)] ?? "badRequest"));
}

/** Writes the response on a bare socket and ends it. */
export function writeRejection(socket: Socket, { status, headers, body }: OwnResponse): void {
  let head = `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\nConnection: close\r\n`;
  for (let at = 0; at < headers.length; at += 2) head += `${headers[at]}: ${headers[at + 1]}\r\n`;
  socket.end(`${head}\r\n${body}`);
}

/** Whether a response has begun on the socket; Node's own handler looks at the same member. */
const isAnswering = (socket: Socket & { readonly _httpMessage?: { readonly headersSent: boolean } | null }): boolean =>
  socket._httpMessage?.headersSent === true;
