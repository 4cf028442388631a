import assert from "node:assert/strict";
import { createServer, type Socket } from "node:net";
import { it } from "node:test";
import { createReplyFromProxy } from "../../../gateway/src/proxy/reply-from/listener.ts";
import { waitFor } from "../../../tools/process/index.ts";
import { dial, receiveUntil } from "../../conformance/engine/client.ts";
import { listen, portOf, startRig } from "../../conformance/engine/proxy-rig.ts";
import { engineSuite } from "../../conformance/engine/suite.ts";

const engine = { name: "reply-from", createProxy: createReplyFromProxy };

engineSuite(engine);

it("an upstream connection on which an upgrade was refused is closed, because no other request would use it (reply-from)", async (test) => {
  const open = new Set<Socket>();
  const server = createServer((socket) => {
    open.add(socket);
    socket.on("error", () => {}).once("close", () => open.delete(socket));
    socket.once("data", () => socket.write("HTTP/1.1 400 Bad Request\r\nContent-Length: 2\r\n\r\nno"));
  });
  const { port } = await startRig(test, engine, { upstream: portOf(await listen(test, server)) });
  const client = await dial(test, port);
  client.write("GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n");
  assert.match(await receiveUntil(client, "\r\n\r\nno"), /^HTTP\/1\.1 400 /);
  await waitFor(() => open.size === 0, { what: "the end of the connection", timeout: 3_000 });
});
