/** A WebSocket server that echoes messages. Prints its port. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { WebSocketServer } from "ws";

const server = createServer();
const sockets = new WebSocketServer({ server, perMessageDeflate: false });
sockets.on("connection", (socket) => socket.on("message", (data, binary) => socket.send(data, { binary })));
server.listen(0, "127.0.0.1", () => console.log(`listening on ${(server.address() as AddressInfo).port}`));
process.once("SIGTERM", () => process.exit());
