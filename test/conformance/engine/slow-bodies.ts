/** Bodies that arrive late: after the upstream connection broke, or during a retry. */
import assert from "node:assert/strict";
import { once } from "node:events";
import type { Socket } from "node:net";
import { describe, it } from "node:test";
import { dial, receiveUntil, sendRaw, sendRequest, signal } from "./client.ts";
import { type Engine, type RigOptions, startRig } from "./proxy-rig.ts";

export function slowBodySuite(engine: Engine): void {
  describe(`slow bodies: the ${engine.name} engine`, () => {
    for (const [says, framing, body] of [
      ["with a length", "Content-Length: 5", "hello"],
      ["in chunks", "Transfer-Encoding: chunked", "5\r\nhello\r\n0\r\n\r\n"],
    ] as const) {
      it(`retries a request whose body ${says} had not begun to arrive when the upstream connection broke`, async (test) => {
        const kept = new Set<Socket>();
        const taken = signal();
        const { port } = await startRig(test, engine, {
          upstream: (request, response) => {
            if (request.method === "GET") kept.add(request.socket);
            if (request.method === "GET" || !kept.has(request.socket)) request.pipe(response);
          },
          plugins: { cors: { access: ({ request }) => void (request.method === "PUT" && taken.fire()) } },
        });
        await sendRequest(port);
        const client = await dial(test, port);
        const answer = receiveUntil(client, "hello");
        client.write(`PUT / HTTP/1.1\r\nHost: a\r\n${framing}\r\n\r\n`);
        await taken.seen;
        for (const socket of kept) socket.destroy();
        const clock = await startRig(test, engine, { settings: { headersTimeout: 100 } });
        await sendRaw(test, clock.port, "GET");
        client.write(body);
        assert.match(await answer, /^HTTP\/1\.1 200 /);
      });
    }

    // undici sends nothing to an upstream before the first chunk of the body, and cannot send that chunk twice.
    if (engine.name !== "http1") return;
    it("forwards the complete body if it arrives during a retry, or answers 502", async (test) => {
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
        await sendRequest(port);
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
        // The response depends on which event the proxy sees first: the closed connection, or the body, which it cannot
        // send twice.
        assert.match(all, /^HTTP\/1\.1 (?:200 .*\r\nhello\r\n0\r\n|502 )/s);
      }
    });
  });
}
