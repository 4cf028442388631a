/** Bodies that come later than what happens to their request. */
import assert from "node:assert/strict";
import { once } from "node:events";
import type { Socket } from "node:net";
import { describe, it } from "node:test";
import { dial, send, signal } from "./client.ts";
import { type Engine, type RigOptions, startRig } from "./rig.ts";

/** Of @fastify/reply-from undici decides what becomes of a body that nobody has read when its connection breaks. */
export function slowBodySuite(engine: Engine): void {
  if (engine.name !== "http1") return;
  describe(`slow bodies (${engine.name})`, () => {
    it("loses nothing of a body that comes while it tries again", async (test) => {
      for (let turn = 0; turn < 10; turn++) {
        const [served, broken] = [new WeakSet<Socket>(), signal()];
        const upstream: RigOptions["upstream"] = (request, response) => {
          if (served.has(request.socket)) {
            request.socket.destroy();
            broken.fire();
          } else request.pipe(response);
          served.add(request.socket);
        };
        const { port } = await startRig(test, engine, { upstream });
        await send(port);
        const client = await dial(test, port);
        const answer = once(client, "close");
        let all = "";
        client.on("data", (chunk) => {
          all += chunk;
        });
        client.write("PUT / HTTP/1.1\r\nHost: a\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n");
        await broken.seen;
        client.write("5\r\nhello\r\n0\r\n\r\n");
        await answer;
        // Whichever the proxy saw first: the end of the connection, or the body, which it cannot send twice.
        assert.match(all, /^HTTP\/1\.1 (?:200 .*\r\nhello\r\n0\r\n|502 )/s);
      }
    });
  });
}
