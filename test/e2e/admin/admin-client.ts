/** Requests to an admin listener, valid and broken ones. */
import { once } from "node:events";
import { connect } from "node:net";
import { type Reply, type RequestOptions, requestAt } from "../../../gateway/src/admin/testing.ts";

export type Ask = (method: string, path: string, asking?: RequestOptions) => Promise<Reply>;

/** @param admin http:// URL of the listener. */
export const connectAdmin = (admin: string): Ask => requestAt(Number(new URL(admin).port));

/** The options of a request to `/batch` that consists of these writes. */
export const batch = (writes: readonly object[]): RequestOptions => ({ json: { writes } });

/** Sends a request whose body may be shorter than its Content-Length, and ends the connection without reading a response. */
export async function sendAndDisconnect(
  admin: string,
  { method, path, body, length }: { method: string; path: string; body: string; length: number },
): Promise<void> {
  const { hostname, port, host } = new URL(admin);
  const socket = connect(Number(port), hostname);
  socket.on("error", () => {
    // The server may end the connection first.
  });
  await once(socket, "connect");
  const head = `${method} ${path} HTTP/1.1\r\nHost: ${host}\r\nContent-Type: application/json\r\nContent-Length: ${length}\r\n\r\n`;
  await new Promise((resolve) => socket.write(head + body, resolve));
  socket.destroy();
}
