/** Random frames, most of them invalid: the proxy stays up, keeps nothing of them, and serves other clients. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { connect } from "node:net";
import { test } from "node:test";
import fc from "fast-check";
import { dialHttp2, requestHttp2 } from "../../../../test/conformance/engine/http2-client.ts";
import { block, frameBytes, plainRequest } from "../../../../test/conformance/engine/http2-frames.ts";
import { startRig } from "../../../../test/conformance/engine/proxy-rig.ts";
import { waitFor } from "../../../../tools/process/index.ts";
import { randomCases } from "../../../../tools/stages/random-cases.ts";
import { createHttp1Proxy } from "../http1/listener.ts";
import { frameType, PREFACE } from "./frames/frame-types.ts";

const request = block(plainRequest);
const post = block(plainRequest.map(([name, value]) => [name, name === ":method" ? "POST" : value] as const));
const payload = fc.oneof(
  fc.constantFrom(request, request, post, post, Buffer.alloc(0)),
  fc
    .constantFrom(
      "00000000",
      "00000001",
      "7fffffff",
      "000300000001",
      "000400000000",
      "00047fffffff",
      "0000000000000000",
    )
    .map((hex) => Buffer.from(hex, "hex")),
  fc.uint8Array({ maxLength: 100 }).map((bytes) => Buffer.from(bytes)),
);
const types = [frameType.headers, frameType.headers, ...Object.values(frameType), 99];
const flags = fc.constantFrom(0, 1, 4, 5, 5, 8, 0x20, 0xff);
const stream = fc.constantFrom(0, 1, 1, 3, 5, 7, 2, 9, 1_000_001);
const frame = fc.tuple(fc.constantFrom(...types), flags, stream, payload);
/** Most connections begin with valid settings, because nothing else is read otherwise. */
const start = fc.constantFrom(...Array.from({ length: 9 }, () => [frameBytes(frameType.settings, 0, 0)]), []);

test("random frames leave the proxy running, without memory of the connections that sent them", async (context) => {
  const { port, proxy, log } = await startRig(
    context,
    { name: "http1", createProxy: createHttp1Proxy },
    {
      upstream: (incoming, response) =>
        void incoming
          .on("error", () => {})
          .resume()
          .on("end", () => response.end("ok")),
      settings: { cleartextHttp2: true },
    },
  );
  await fc.assert(
    fc.asyncProperty(start, fc.array(frame, { minLength: 1, maxLength: 15 }), async (first, frames) => {
      const socket = connect(port, "127.0.0.1");
      socket.on("error", () => {}).resume();
      const bytes = frames.map(([type, own, id, content]) => frameBytes(type, own, id, content));
      socket.write(Buffer.concat([PREFACE, ...first, ...bytes]));
      await Promise.race([
        once(socket, "end"),
        once(socket, "close"),
        once(socket, "data").then(() => new Promise(setImmediate)),
      ]);
      socket.destroy();
    }),
    { numRuns: randomCases(400), endOnFailure: true },
  );
  await waitFor(() => proxy.memory() === 0, { what: "all memory to be released" });
  const session = dialHttp2(context, port);
  assert.equal((await requestHttp2(session)).body.toString(), "ok");
  assert.deepEqual(
    log.filter(({ message }) => message === "the proxy failed"),
    [],
  );
});
