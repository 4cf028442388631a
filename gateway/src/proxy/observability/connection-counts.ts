/** Counts the connections and requests of a listener. */
import type { Server } from "node:http";
import type { Connections } from "../../metrics/metrics.ts";

/**
 * Connections that were destroyed before the server received them are not counted.
 *
 * @returns A function that reads the current counts. Upgraded connections count as active until they close.
 */
export function countConnections(server: Server): () => Connections {
  let accepted = 0;
  let active = 0;
  let requests = 0;
  let writing = 0;
  server.on("connection", (socket) => {
    if (socket.destroyed) return;
    accepted++;
    active++;
    socket.once("close", () => active--);
  });
  server.on("request", (_request, response) => {
    requests++;
    writing++;
    response.once("close", () => writing--);
  });
  server.on("upgrade", () => requests++);
  return () => ({
    accepted,
    handled: accepted,
    active,
    // Node has no event for a head being read: such connections count as waiting.
    reading: 0,
    writing,
    waiting: Math.max(0, active - writing),
    requests,
  });
}
