/** Responses of raw bytes that no HTTP library would send, and requests with targets that `fetch` would change. */
import { get } from "node:http";
import { type AddressInfo, createServer, type Socket } from "node:net";
import type { TestContext } from "node:test";

/**
 * A TCP server: `answer` writes any bytes in response to received data. Returns the origin of its URLs.
 *
 * @param answer Called for each arrival of data, with the number of arrivals so far
 */
export async function startRawServer(
  test: TestContext,
  answer: (socket: Socket, count: number) => void,
): Promise<string> {
  const sockets = new Set<Socket>();
  let count = 0;
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on("error", () => {}).on("data", () => answer(socket, ++count));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  test.after(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** Sends GET with this target, which `fetch` would normalise. Resolves with the status. */
export const getTarget = (origin: string, target: string): Promise<number> =>
  new Promise((resolve, reject) => {
    const { hostname, port } = new URL(origin);
    const request = get({ hostname, port, path: target }, (response) => {
      response.resume().on("end", () => resolve(response.statusCode ?? 0));
    });
    request.on("error", reject);
  });
