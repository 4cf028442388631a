/** Connections during a graceful shutdown of the proxy. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import { connect, type Socket } from "node:net";
import { describe, it, type TestContext } from "node:test";
import { dial, receiveUntil, signal } from "./client.ts";
import { type Engine, listen, portOf, startRig } from "./proxy-rig.ts";

const GET = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";
const HANDSHAKE = "GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n";
const AGREED = "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n";

/** A deadline that no test reaches, in milliseconds. */
const FAR = 60_000;

/** Starts an upstream that passes the socket of each upgrade request to `upgrade`; returns its port. */
async function startUpgrading(test: TestContext, upgrade: (socket: Socket) => void): Promise<number> {
  const server = createServer((_request, response) => response.end("ok"));
  server.on("upgrade", ({ socket }) => {
    socket.on("error", () => {});
    upgrade(socket);
  });
  return portOf(await listen(test, server));
}

export function drainSuite(engine: Engine): void {
  describe(`a graceful shutdown: the ${engine.name} engine`, { timeout: 20_000 }, () => {
    it("completes requests in flight, closes idle connections, and accepts no more connections", async (test) => {
      const held = signal<ServerResponse>();
      const { port, proxy } = await startRig(test, engine, { upstream: (_request, response) => held.fire(response) });
      const [idle, busy] = [await dial(test, port), await dial(test, port)];
      const idleEnds = once(idle, "close");
      idle.resume();
      busy.write(GET);
      const response = await held.seen;
      const drained = proxy.close({ deadline: FAR });
      await idleEnds;
      const late = connect(port, "127.0.0.1");
      const [error] = await once(late, "error");
      assert.equal(error.code, "ECONNREFUSED");
      const answer = receiveUntil(busy, "done");
      response.end("done");
      assert.match(await answer, /\r\nConnection: close\r\n/i);
      await drained;
    });

    it("closes connections on which only an empty line has arrived since the last response", async (test) => {
      const { port, proxy } = await startRig(test, engine, { upstream: (_request, response) => response.end("ok") });
      const client = await dial(test, port);
      const first = receiveUntil(client, "ok");
      client.write(`${GET}\r\n`);
      await first;
      client.resume().write("\r\n\r\n");
      await proxy.close({ deadline: FAR });
    });

    it("does not wait for the rest of a body after an early response", async (test) => {
      const { port, proxy } = await startRig(test, engine, {
        upstream: (_request, response) => response.writeHead(413).end("too large"),
      });
      const client = await dial(test, port);
      const answer = receiveUntil(client, "too large");
      client.write("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\nabc");
      await answer;
      client.resume();
      await proxy.close({ deadline: FAR });
    });

    it("keeps an established tunnel open", async (test) => {
      const upstream = await startUpgrading(test, (socket) => {
        socket.write(AGREED);
        socket.pipe(socket);
      });
      const { port, proxy } = await startRig(test, engine, { upstream });
      const [idle, tunnel] = [await dial(test, port), await dial(test, port)];
      const agreed = receiveUntil(tunnel, "101 Switching");
      tunnel.write(HANDSHAKE);
      await agreed;
      const drained = proxy.close({ deadline: FAR });
      await once(idle.resume(), "close");
      const echoed = receiveUntil(tunnel, "hello");
      tunnel.write("hello");
      await echoed;
      tunnel.destroy();
      await drained;
    });

    it("aborts unfinished requests, WebSocket handshakes and tunnels at the deadline", async (test) => {
      const [asked, shaken] = [signal(), signal<Socket>()];
      const held = await startUpgrading(test, shaken.fire);
      const silent = await startRig(test, engine, { upstream: () => asked.fire() });
      const upgrading = await startRig(test, engine, { upstream: held });
      const [request, handshake] = [await dial(test, silent.port), await dial(test, upgrading.port)];
      const cut = [request, handshake].map((socket) => once(socket.resume(), "close"));
      request.write(GET);
      handshake.write(HANDSHAKE);
      await Promise.all([asked.seen, shaken.seen]);
      await Promise.all([silent, upgrading].map(({ proxy }) => proxy.close({ deadline: 50 })));
      await Promise.all(cut);
      const later = signal<Socket>();
      const agreeing = await startRig(test, engine, { upstream: await startUpgrading(test, later.fire) });
      const tunnel = await dial(test, agreeing.port);
      tunnel.write(HANDSHAKE);
      const upstream = await later.seen;
      const drained = agreeing.proxy.close({ deadline: 500 });
      const agreed = receiveUntil(tunnel, "101 Switching");
      upstream.write(AGREED);
      await agreed;
      await Promise.all([drained, once(upstream.resume(), "end"), once(tunnel.resume(), "close")]);
    });
  });
}
