/** Time limits and flow control of a WebSocket over HTTP/2. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { constants } from "node:http2";
import type { Socket } from "node:net";
import { describe, it } from "node:test";
import { signal } from "./client.ts";
import { startHttp2 } from "./http2.ts";
import { block, dialFrames, frame, frameBytes, frameFlags } from "./http2-frames.ts";
import {
  connectFields,
  requestWebSocket,
  startEcho,
  startTunnel,
  startUpgrades,
  switchTo,
} from "./http2-websockets.ts";
import type { Engine } from "./proxy-rig.ts";

/** A frame that allows this many more bytes on a stream; 0: on the connection. */
function windowUpdate(stream: number, bytes: number): Buffer {
  const payload = Buffer.alloc(4);
  payload.writeUInt32BE(bytes);
  return frameBytes(frame.windowUpdate, 0, stream, payload);
}

export function http2WebSocketLimitsSuite(engine: Engine): void {
  if (engine.name !== "http1") return;
  describe(`limits of a WebSocket over HTTP/2: the ${engine.name} engine`, () => {
    it("closes a tunnel that carries no data for read_timeout", async (test) => {
      const upstream = await startEcho(test);
      const { session } = await startTunnel(test, engine, { upstream: upstream.port, service: { read_timeout: 100 } });
      const stream = requestWebSocket(session).resume();
      await once(stream, "close");
      assert.equal(stream.rstCode, constants.NGHTTP2_CANCEL);
    });

    it("resets a tunnel whose upstream sends, but accepts no data for write_timeout", async (test) => {
      const upstream = await startUpgrades(test, (request, socket) => {
        socket.pause().write(switchTo(request));
        const timer = setInterval(() => socket.write("ping"), 20);
        socket.once("close", () => clearInterval(timer));
      });
      const { session } = await startTunnel(test, engine, { upstream, service: { write_timeout: 100 } });
      const stream = requestWebSocket(session).resume();
      stream.write(Buffer.alloc(16 * 1_048_576));
      await once(stream, "close");
      assert.equal(stream.rstCode, constants.NGHTTP2_CANCEL);
    });

    it("keeps a tunnel open for longer than read_timeout while its client reads slowly", async (test) => {
      const window = 65_535;
      const piece = 1000;
      const pieces = 20;
      const upstream = await startUpgrades(test, (request, socket) => {
        socket.write(switchTo(request));
        socket.write(Buffer.alloc(4 * window));
      });
      const { rig } = await startHttp2(test, engine, { upstream, service: { read_timeout: 400 } });
      const client = await dialFrames(test, rig.port);
      client.send(frameBytes(frame.headers, frameFlags.endHeaders, 1, block([...connectFields, [":authority", "a"]])));
      const received = () =>
        client.frames.reduce((sum, { type, payload }) => sum + (type === frame.data ? payload.length : 0), 0);
      await client.until(() => received() === window);
      let widened = 0;
      const timer = setInterval(() => {
        client.send(windowUpdate(0, piece), windowUpdate(1, piece));
        if (++widened === pieces) clearInterval(timer);
      }, 40);
      test.after(() => clearInterval(timer));
      const { type } = await client.until(
        (last) => last.type === frame.reset || received() === window + pieces * piece,
      );
      assert.notEqual(type, frame.reset);
    });

    it("reads no faster from either side than the other side reads", async (test) => {
      const joined = signal<Socket>();
      const upstream = await startUpgrades(test, (request, socket) => {
        socket.pause();
        socket.write(switchTo(request));
        joined.fire(socket);
      });
      const { session } = await startTunnel(test, engine, { upstream });
      const stream = requestWebSocket(session);
      await once(stream, "response");
      const socket = await joined.seen;
      const piece = Buffer.alloc(65_536);
      for (const side of [socket, stream]) {
        stream.pause();
        socket.pause();
        let accepted = 0;
        const isStuck = () => side.writableLength > 16 * piece.length;
        for (; !isStuck() && accepted < 1024; accepted++) {
          side.write(piece);
          await new Promise(setImmediate);
        }
        assert.ok(accepted < 1024, "the proxy accepts 64 MiB that the other side does not read");
      }
      stream.close();
    });
  });
}
