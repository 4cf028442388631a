/** Bodies of requests whose length a plugin limits while they stream. */
import assert from "node:assert/strict";
import type { RequestListener } from "node:http";
import { describe, it } from "node:test";
import { pluginInstance } from "../../plugins/fake-exchange.ts";
import { withConfigDefaults } from "../../plugins/filled-configs.ts";
import { dial, receiveUntil, sendRequest, signal } from "./client.ts";
import { startHttp2 } from "./http2.ts";
import { responseOfStream } from "./http2-client.ts";
import { type Engine, type RigOptions, startRig } from "./proxy-rig.ts";

const POST = "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n";

/** Options of a rig that limits bodies to ten bytes. */
const limited = (upstream: RequestListener, plugins: RigOptions["plugins"] = {}): RigOptions => ({
  upstream,
  plugins: {
    "request-size-limiting": pluginInstance(
      "request-size-limiting",
      withConfigDefaults("request-size-limiting", { allowed_payload_size: 10, size_unit: "bytes" }),
    ),
    ...plugins,
  },
});

/** An upstream that reports what it receives. */
function recording() {
  const first = signal<string>();
  const aborted = signal();
  const upstream: RequestListener = (request, response) => {
    let body = "";
    request.on("data", (piece: Buffer) => {
      body += piece;
      first.fire(body);
    });
    request.on("end", () => response.end(body)).on("error", () => {});
    request.once("close", () => {
      if (!request.complete) aborted.fire();
    });
  };
  return { first, aborted, upstream };
}

export function limitedBodySuite(engine: Engine): void {
  describe(`bodies of requests that a plugin limits (${engine.name})`, () => {
    for (const [name, value] of [
      ["Content-Length", "10"],
      ["Transfer-Encoding", "chunked"],
    ] as const) {
      it(`pass up to the limit with ${name}`, async (test) => {
        const { port } = await startRig(test, engine, limited(recording().upstream));
        for (let count = 0; count < 2; count++) {
          const { status, body } = await sendRequest(port, {
            method: "POST",
            headers: { [name]: value },
            body: "0123456789",
          });
          assert.deepEqual([status, body], [200, "0123456789"]);
        }
      });
    }

    it("are refused without a request to the upstream if Content-Length is beyond the limit", async (test) => {
      const { port } = await startRig(
        test,
        engine,
        limited(() => assert.fail("the upstream got a request")),
      );
      for (const [expect, status] of [
        [{}, 413],
        [{ Expect: "100-continue" }, 417],
      ] as const) {
        const seen = await sendRequest(port, {
          method: "POST",
          headers: { "Content-Length": "11", ...expect },
          body: "0123456789a",
        });
        assert.deepEqual([seen.status, JSON.parse(seen.body).message], [status, "Request size limit exceeded"]);
      }
    });

    it("stream to the upstream before their end is known, and are refused when they exceed the limit", async (test) => {
      const { first, aborted, upstream } = recording();
      const { port } = await startRig(test, engine, limited(upstream));
      const socket = await dial(test, port);
      socket.write(`${POST}\r\n5\r\nhello\r\n`);
      assert.equal(await first.seen, "hello");
      const answer = receiveUntil(socket, "Request size limit exceeded");
      socket.write("6\r\n world\r\n");
      assert.match(await answer, /^HTTP\/1.1 413 /);
      await aborted.seen;
    });

    it("are refused with 417 for a client that waited for 100 Continue", async (test) => {
      const { aborted, upstream } = recording();
      const { port } = await startRig(test, engine, limited(upstream));
      const socket = await dial(test, port);
      const goOn = receiveUntil(socket, "100 Continue");
      socket.write(`${POST}Expect: 100-continue\r\n\r\n`);
      await goOn;
      const answer = receiveUntil(socket, "Request size limit exceeded");
      socket.write("5\r\nhello\r\n6\r\n world\r\n");
      assert.match(await answer, /HTTP\/1.1 417 /);
      await aborted.seen;
    });

    it("abort a response that has begun when they exceed the limit", async (test) => {
      const { port } = await startRig(
        test,
        engine,
        limited((request, response) => {
          request.on("error", () => {});
          response.write("begun");
        }),
      );
      const socket = await dial(test, port);
      const begun = receiveUntil(socket, "begun");
      socket.write(`${POST}\r\n5\r\nhello\r\n`);
      await begun;
      let rest = "";
      socket.on("data", (bytes) => {
        rest += bytes.toString();
      });
      socket.write("6\r\n world\r\n");
      await new Promise((resolve) => socket.once("close", resolve));
      assert.doesNotMatch(rest, /0\r\n\r\n|413/);
    });

    it("are refused while a later plugin reads them", async (test) => {
      const { port } = await startRig(
        test,
        engine,
        limited(() => assert.fail("the upstream got a request"), {
          "request-transformer": { access: async ({ request }) => void (await request.body(1000)) },
        }),
      );
      const body = "0123456789a";
      const seen = await sendRequest(port, { method: "POST", headers: { "Transfer-Encoding": "chunked" }, body });
      assert.equal(seen.status, 413);
    });

    it("are refused if an earlier plugin has read more than the limit", async (test) => {
      const { port } = await startRig(
        test,
        engine,
        limited(() => assert.fail("the upstream got a request"), {
          "key-auth": { access: async ({ request }) => void (await request.body(1000)) },
        }),
      );
      const body = "0123456789a";
      const seen = await sendRequest(port, { method: "POST", headers: { "Transfer-Encoding": "chunked" }, body });
      assert.equal(seen.status, 413);
    });

    if (engine.name === "http1") {
      it("are refused over HTTP/2 when they exceed the limit", async (test) => {
        const { first, aborted, upstream } = recording();
        const { session } = await startHttp2(test, engine, limited(upstream));
        const stream = session.request({ ":method": "POST", ":path": "/" }, { endStream: false });
        const response = responseOfStream(stream);
        stream.write("hello");
        assert.equal(await first.seen, "hello");
        stream.end(" world");
        assert.equal((await response).status, 413);
        await aborted.seen;
      });
    }
  });
}
