/**
 * The memory that clients can occupy in a worker, across all connections: beyond the limit, requests are refused or
 * connections are closed. All memory is released when the connections have ended.
 */
import assert from "node:assert/strict";
import { createServer } from "node:http";
import { constants } from "node:http2";
import { describe, it, type TestContext } from "node:test";
import { waitFor } from "../../../tools/process/index.ts";
import { dial, receiveUntil, sendRequest } from "./client.ts";
import { startHttp2 } from "./http2.ts";
import { dialHttp2, requestHttp2 } from "./http2-client.ts";
import { block, dialFrames, type FrameClient, frame, frameBytes, frameFlags, plainRequest } from "./http2-frames.ts";
import { becomes } from "./pool.ts";
import { type Engine, listen, portOf, type RigOptions, startRig } from "./proxy-rig.ts";

const MEGABYTE = 1024 * 1024;
const LIMIT = 4 * MEGABYTE;
const ok: RigOptions["upstream"] = (_incoming, response) => response.end("ok");
const content = Buffer.alloc(16 * MEGABYTE);
const huge: RigOptions["upstream"] = ({ url }, response) => void response.end(url === "/ok" ? "ok" : content);
const get = (id: number, fields = plainRequest) =>
  frameBytes(frame.headers, frameFlags.endStream | frameFlags.endHeaders, id, block(fields));
/** A SETTINGS frame with a SETTINGS_INITIAL_WINDOW_SIZE of zero. */
const noWindow = frameBytes(frame.settings, 0, 0, Buffer.from([0, 4, 0, 0, 0, 0]));

/** A connection on which `streams` requests are sent and no window is granted for response bodies. */
async function dialDeaf(test: TestContext, port: number, streams: number, more: typeof plainRequest = []) {
  const client = await dialFrames(test, port);
  client.send(
    noWindow,
    ...Array.from({ length: streams }, (_, index) => get(index * 2 + 1, [...plainRequest, ...more])),
  );
  return client;
}

const resetsOf = ({ frames }: FrameClient): readonly number[] =>
  frames.filter(({ type }) => type === frame.reset).map(({ payload }) => payload.readUInt32BE(0));

export function clientMemorySuite(engine: Engine): void {
  if (engine.name === "http1") http2Suite(engine);
  describe(`memory of clients: the ${engine.name} engine`, () => {
    const deaf: readonly (readonly [says: string, request: string])[] = [
      ["do not read a long response", "GET / HTTP/1.1\r\nHost: a\r\n\r\n"],
      ["pipeline requests and read nothing", "GET / HTTP/1.1\r\nHost: a\r\n\r\n".repeat(50)],
    ];
    for (const [says, request] of deaf) {
      it(`once the memory limit is reached, closes connections of clients that ${says}, and serves other clients`, async (test) => {
        const { proxy, port } = await startRig(test, engine, {
          upstream: huge,
          settings: { clientMemory: MEGABYTE },
        });
        const clients = await Promise.all(Array.from({ length: 40 }, () => dial(test, port)));
        for (const client of clients) client.pause().write(request);
        await becomes(() => proxy.connections().active < 40);
        assert.ok(proxy.memory() <= MEGABYTE);
        assert.equal((await sendRequest(port, { path: "/ok" })).body, "ok");
        for (const client of clients) client.destroy();
        await becomes(() => proxy.memory() === 0);
      });
    }
  });
  if (engine.name === "http1") tunnelSuite(engine);
}

function tunnelSuite(engine: Engine): void {
  describe(`memory of tunnels: the ${engine.name} engine`, () => {
    it("once the memory limit is reached, closes tunnels whose clients read nothing", async (test) => {
      const server = createServer();
      server.on("upgrade", ({ socket }) => {
        socket.on("error", () => {}).write("HTTP/1.1 101 OK\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n");
        socket.write(content);
      });
      const upstream = portOf(await listen(test, server));
      const { proxy, port } = await startRig(test, engine, { upstream, settings: { clientMemory: MEGABYTE } });
      const clients = await Promise.all(Array.from({ length: 40 }, () => dial(test, port)));
      for (const client of clients) {
        client.pause().write("GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n");
      }
      await becomes(() => proxy.connections().active < 40);
      assert.ok(proxy.memory() <= MEGABYTE);
      for (const client of clients) client.destroy();
      await becomes(() => proxy.memory() === 0);
    });
  });
}

function http2Suite(engine: Engine): void {
  describe(`memory of streams: the ${engine.name} engine`, () => {
    it("refuses streams of a connection that does not read its responses, and serves other connections", async (test) => {
      const { rig } = await startHttp2(test, engine, { upstream: ok, settings: { clientMemory: LIMIT } });
      const large = [["x-large", "a".repeat(16_000)]] as const;
      const clients = await Promise.all(Array.from({ length: 4 }, () => dialDeaf(test, rig.port, 100, large)));
      const isRefused = (client: FrameClient) => resetsOf(client).includes(constants.NGHTTP2_REFUSED_STREAM);
      await becomes(() => clients.some(isRefused));
      assert.ok(rig.proxy.memory() > LIMIT / 2 && rig.proxy.memory() <= LIMIT, `${rig.proxy.memory()} bytes`);
      const served = async () => (await requestHttp2(dialHttp2(test, rig.port))).status === 200;
      await waitFor(served, { what: "another client to be served" });
      for (const { socket } of clients) socket.destroy();
    });

    it("announces a lower limit of streams while memory is scarce and the usual limit afterwards, and releases all memory when the connections are gone", async (test) => {
      const held: (() => void)[] = [];
      const { rig, session } = await startHttp2(test, engine, {
        upstream: (_incoming, response) => held.push(() => response.end("ok")),
        settings: { clientMemory: LIMIT },
      });
      const large = { "x-large": "a".repeat(16_000) };
      const streams = Array.from({ length: 120 }, () => requestHttp2(session, { headers: large }));
      await becomes(() => held.length === 120);
      const other = dialHttp2(test, rig.port);
      const limits: (number | undefined)[] = [];
      other.on("remoteSettings", ({ maxConcurrentStreams }) => limits.push(maxConcurrentStreams));
      const more = Array.from({ length: 20 }, () => requestHttp2(other, { headers: large }));
      await becomes(() => limits.length === 2);
      assert.ok((limits[1] ?? 128) < 20, `${limits}`);
      const timer = setInterval(() => {
        for (const answer of held.splice(0)) answer();
      }, 10);
      test.after(() => clearInterval(timer));
      const statuses = (await Promise.all([...streams, ...more])).map(({ status, rstCode }) => status || rstCode);
      assert.deepEqual([...new Set(statuses)], [200, constants.NGHTTP2_REFUSED_STREAM]);
      await becomes(() => limits.length === 3);
      assert.deepEqual([limits[0], limits[2]], [128, 128]);
      session.destroy();
      other.destroy();
      await becomes(() => rig.proxy.memory() === 0);
    });

    it("closes connections until the unread bytes of responses are within the limit, and serves other clients", async (test) => {
      const { rig } = await startHttp2(test, engine, { upstream: huge, settings: { clientMemory: LIMIT } });
      const clients = await Promise.all(Array.from({ length: 4 }, () => dialDeaf(test, rig.port, 20)));
      await Promise.any(clients.map(({ closed }) => closed));
      await becomes(() => rig.proxy.memory() <= LIMIT);
      assert.equal((await requestHttp2(dialHttp2(test, rig.port), { headers: { ":path": "/ok" } })).status, 200);
    });

    it("accepts no more connections than the memory allows", async (test) => {
      const { rig, session } = await startHttp2(test, engine, { upstream: ok, settings: { clientMemory: 40_000 } });
      await requestHttp2(session);
      const client = await dialFrames(test, rig.port);
      await client.closed;
      assert.equal((await requestHttp2(session)).status, 200);
    });

    it("counts no memory after many clients have connected, sent requests and disconnected", async (test) => {
      const { rig, session } = await startHttp2(test, engine, { upstream: ok });
      for (let turn = 0; turn < 20; turn++) {
        const client = await dialDeaf(test, rig.port, 10);
        await client.until(({ type }) => type === frame.headers);
        client.socket.destroy();
      }
      await requestHttp2(session);
      session.close();
      await becomes(() => rig.proxy.memory() === 0);
      const socket = await dial(test, rig.port);
      socket.write("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
      await receiveUntil(socket, "ok");
      assert.equal(rig.proxy.memory(), 0, "an ordinary HTTP/1.1 request is not counted");
    });
  });
}
