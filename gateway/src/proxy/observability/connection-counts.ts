/** Counts the connections and requests of a listener. */
import type { Server } from "node:http";
import type { Connections } from "../../plugins/prometheus/metrics.ts";

/**
 * Connections that were destroyed before the server got them are not counted.
 *
 * @returns What to ask for the counts, at any time. Upgraded connections count as active until they end.
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
    // Node tells nobody that a head is being read: those connections count as waiting.
    reading: 0,
    writing,
    waiting: Math.max(0, active - writing),
    requests,
  });
}
