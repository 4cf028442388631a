/** Floods of HTTP/2 frames and similar attacks: the connection is closed, or its streams are reset. */
import assert from "node:assert/strict";
import { constants } from "node:http2";
import { describe, it, type TestContext } from "node:test";
import { waitFor } from "../../../tools/process/index.ts";
import { startHttp2 } from "./http2.ts";
import { dialHttp2, requestHttp2 } from "./http2-client.ts";
import { block, dialFrames, type FrameClient, frame, frameBytes, frameFlags, plainRequest } from "./http2-frames.ts";
import { becomes } from "./pool.ts";
import type { Engine, RigOptions } from "./proxy-rig.ts";

const ok: RigOptions["upstream"] = (_incoming, response) => response.end("ok");

const [PRIORITY, WINDOW, PRIORITY_UPDATE, UNKNOWN] = [2, 8, 0x10, 0x99];
const PADDED = 8;
const get = (stream: number, fields = plainRequest) =>
  frameBytes(frame.headers, frameFlags.endStream | frameFlags.endHeaders, stream, block(fields));
const posted = plainRequest.map(([name, value]) => [name, name === ":method" ? "POST" : value] as const);
const post = (stream: number, more: typeof plainRequest = []) =>
  frameBytes(frame.headers, frameFlags.endHeaders, stream, block([...posted, ...more]));

const word = (value: number): Buffer => {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
};
const window = (stream: number, more: number) => frameBytes(WINDOW, 0, stream, word(more));
/** A SETTINGS frame with this SETTINGS_INITIAL_WINDOW_SIZE. */
const initialWindow = (size: number) =>
  frameBytes(frame.settings, 0, 0, Buffer.concat([Buffer.from([0, 4]), word(size)]));

/** A request whose stream is reset. */
const tooLong = Buffer.concat([post(1, [["content-length", "0"]]), frameBytes(frame.data, 0, 1, Buffer.from("x"))]);

async function startFrames(test: TestContext, engine: Engine, options: RigOptions = {}) {
  const { rig } = await startHttp2(test, engine, { upstream: ok, ...options });
  return { rig, client: await dialFrames(test, rig.port) };
}

/**
 * Sends the same bytes repeatedly, as fast as the peer reads them, until the connection ends or 50 MB are sent. Returns
 * the byte count.
 */
async function flood({ socket, closed }: FrameClient, sent: Buffer): Promise<number> {
  const piece = Buffer.concat(Array.from({ length: Math.ceil(65_536 / sent.length) }, () => sent));
  let bytes = 0;
  while (!socket.destroyed && bytes < 50_000_000) {
    bytes += piece.length;
    const drained = new Promise((resolve) => socket.once("drain", resolve));
    if (socket.write(piece)) await new Promise(setImmediate);
    else await Promise.race([drained, closed]);
  }
  return bytes;
}

export function http2FloodSuite(engine: Engine): void {
  if (engine.name !== "http1") return;
  describe(`floods of HTTP/2: the ${engine.name} engine`, () => {
    const floods: readonly (readonly [says: string, sent: Buffer, before?: Buffer])[] = [
      ["empty pieces of a body (CVE-2019-9518)", frameBytes(frame.data, 0, 1), post(1)],
      ["pieces of a body that are only padding", frameBytes(frame.data, PADDED, 1, Buffer.from([0])), post(1)],
      ["empty pieces for a stream that was reset", frameBytes(frame.data, frameFlags.endStream, 1), tooLong],
      ["heads for a stream that was reset", get(1), tooLong],
      [
        "empty continuations of a head (CVE-2024-27316)",
        frameBytes(frame.continuation, 0, 1),
        frameBytes(frame.headers, frameFlags.endStream, 1, block(plainRequest)),
      ],
      ["priorities (CVE-2019-9513)", frameBytes(PRIORITY, 0, 1, Buffer.concat([word(0), Buffer.from([1])]))],
      [
        "priorities in PRIORITY_UPDATE frames",
        frameBytes(PRIORITY_UPDATE, 0, 0, Buffer.concat([word(1), Buffer.from("u=1")])),
      ],
      ["frames of an unknown type", frameBytes(UNKNOWN, 0, 0, word(1))],
      ["settings while it reads the answers (CVE-2019-9515)", initialWindow(65_535)],
      ["window updates of the connection", window(0, 1)],
      ["window updates of a stream", window(1, 1), post(1)],
      ["pings while it reads the answers (CVE-2019-9512)", frameBytes(frame.ping, 0, 0, Buffer.alloc(8))],
    ];
    for (const [says, sent, before] of floods) {
      it(`ends a connection that floods with ${says}`, async (test) => {
        const { rig, client } = await startFrames(test, engine);
        if (before) client.send(before);
        const bytes = await flood(client, sent);
        // After GOAWAY the gateway waits two seconds for the client to close its side.
        await waitFor(() => client.socket.destroyed, {
          what: `the end of the connection: ${bytes} bytes were accepted`,
          timeout: 5000,
        });
        const [last] = client.frames.filter(({ type }) => type === frame.goAway);
        assert.equal(last?.payload.readUInt32BE(4), constants.NGHTTP2_ENHANCE_YOUR_CALM);
        assert.equal((await requestHttp2(dialHttp2(test, rig.port))).status, 200, "other clients are served");
      });
    }

    const faults: readonly (readonly [says: string, request: (stream: number) => readonly Buffer[]])[] = [
      ["a window update of 0", (id) => [get(id), window(id, 0)]],
      ["a window beyond the maximum", (id) => [get(id), window(id, 0x7fffffff)]],
      ["data after the end of a stream", (id) => [get(id), frameBytes(frame.data, 0, id, Buffer.from("x"))]],
      [
        "a body that is longer than declared",
        (id) => [post(id, [["content-length", "1"]]), frameBytes(frame.data, 0, id, Buffer.from("xx"))],
      ],
      [
        "invalid trailers",
        (id) => [
          post(id),
          frameBytes(frame.headers, frameFlags.endHeaders | frameFlags.endStream, id, block([[":x", "y"]])),
        ],
      ],
      [
        "a stream that depends on itself",
        (id) => [get(id), frameBytes(PRIORITY, 0, id, Buffer.concat([word(id), word(0).subarray(3)]))],
      ],
    ];
    for (const [says, request] of faults) {
      it(`ends a connection after resetting many of its streams for ${says} (CVE-2025-8671)`, async (test) => {
        let reached = 0;
        const { client } = await startFrames(test, engine, {
          upstream: (incoming) => {
            incoming.on("error", () => {});
            reached++;
          },
        });
        for (let id = 1; id < 8000 && !client.socket.destroyed; id += 2) {
          client.send(...request(id));
          if (id % 20 === 1) await new Promise(setImmediate);
        }
        await client.closed;
        assert.ok(reached < 700, `${reached} requests reached the upstream`);
      });
    }

    it("forwards a body in frames of one byte unchanged", async (test) => {
      const { client } = await startFrames(test, engine, {
        upstream: (incoming, response) => void incoming.pipe(response),
      });
      const content = Buffer.from(Array.from({ length: 5000 }, (_, index) => index % 251));
      client.send(
        post(1),
        ...Array.from(content, (_, at) => frameBytes(frame.data, 0, 1, content.subarray(at, at + 1))),
        frameBytes(frame.data, frameFlags.endStream, 1),
      );
      await client.until(({ type, flags }) => type === frame.data && flags === frameFlags.endStream);
      const received = client.frames.flatMap(({ type, payload }) => (type === frame.data ? [payload] : []));
      assert.deepEqual(Buffer.concat(received), content);
    });

    it("ends a connection that sends very many settings in one frame", async (test) => {
      const { client } = await startFrames(test, engine);
      const settings = (count: number) =>
        frameBytes(frame.settings, 0, 0, Buffer.alloc(count * 6, initialWindow(65_535).subarray(9)));
      client.send(settings(32), get(1));
      await client.until(({ stream, type }) => stream === 1 && type === frame.data);
      client.send(settings(33));
      const { payload } = await client.until(({ type }) => type === frame.goAway);
      assert.equal(payload.readUInt32BE(4), constants.NGHTTP2_ENHANCE_YOUR_CALM);
    });

    it("refuses a head that is small on the wire and large when decompressed, and keeps the connection", async (test) => {
      const { client } = await startFrames(test, engine);
      const name = Buffer.from([0x40, 1, 0x78]);
      // A value of 3900 bytes in the dynamic table; each following byte refers to it again.
      const value = Buffer.concat([Buffer.from([0x7f, 0xbd, 0x1d]), Buffer.alloc(3900, "a")]);
      const bomb = Buffer.concat([block(plainRequest), name, value, Buffer.alloc(10_000, 0xbe)]);
      client.send(frameBytes(frame.headers, frameFlags.endStream | frameFlags.endHeaders, 1, bomb));
      const { payload } = await client.until(({ stream, type }) => stream === 1 && type === frame.reset);
      assert.equal(payload.readUInt32BE(0), constants.NGHTTP2_ENHANCE_YOUR_CALM);
      client.send(get(3));
      await client.until(({ stream, type }) => stream === 3 && type === frame.data);
    });

    it("resets the streams of a client that requests much and keeps its window closed (CVE-2019-9517)", async (test) => {
      let [asked, waiting] = [0, 0];
      const content = Buffer.alloc(1024 * 1024);
      const { client } = await startFrames(test, engine, {
        upstream: (_incoming, response) => {
          asked++;
          waiting++;
          response.on("close", () => waiting--).end(content);
        },
        settings: { sendTimeout: 300 },
      });
      client.send(initialWindow(0));
      for (let id = 1; id < 200; id += 2) client.send(get(id));
      await becomes(() => asked === 100);
      await becomes(() => client.frames.filter(({ type }) => type === frame.reset).length === 100);
      await becomes(() => waiting === 0);
    });

    it("resets a stream whose client opens the window by one byte at a time (CVE-2019-9511)", async (test) => {
      const { client } = await startFrames(test, engine, {
        upstream: (_incoming, response) => response.end(Buffer.alloc(1024 * 1024)),
        settings: { sendTimeout: 60_000, sendMinRate: 100_000, minRateGrace: 100 },
      });
      client.send(initialWindow(0), get(1));
      const timer = setInterval(() => client.send(window(1, 1)), 5);
      test.after(() => clearInterval(timer));
      await client.until(({ stream, type }) => stream === 1 && type === frame.reset);
      const pieces = client.frames.filter(({ type, payload }) => type === frame.data && payload.length === 1);
      assert.ok(pieces.length > 3, "some pieces had a single byte");
    });
  });
}
