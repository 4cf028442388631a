/** Too many clients, and clients that are deliberately slow. */
import assert from "node:assert/strict";
import { connect } from "node:net";
import { describe, it } from "node:test";
import { dial, receiveUntil, sendRaw, sendRequest, signal } from "./client.ts";
import { becomes } from "./pool.ts";
import { type Engine, startRig } from "./proxy-rig.ts";

const GET = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";

export function hostileSuite(engine: Engine): void {
  describe(`too many clients: the ${engine.name} engine`, () => {
    it("counts connections that have not finished a TLS handshake towards the limit", async (test) => {
      const { port, tlsPort, proxy } = await startRig(test, engine, {
        certificates: {},
        settings: { maxConnectionsPerAddress: 2 },
      });
      const [first] = [await dial(test, tlsPort), await dial(test, tlsPort)];
      await becomes(() => proxy.connections().accepted === 2);
      const last = "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";
      assert.equal(await sendRaw(test, port, last), "");
      first.destroy();
      while ((await sendRaw(test, port, last)) === "");
    });

    it("no longer counts connections whose TLS handshake has failed", { timeout: 10_000 }, async (test) => {
      const { port, tlsPort } = await startRig(test, engine, {
        certificates: {},
        settings: { maxConnectionsPerAddress: 2 },
      });
      // OpenSSL refuses these bytes: the TLS connection closes before the TCP connection.
      for (let count = 0; count < 2; count++) await sendRaw(test, tlsPort, GET);
      while ((await sendRaw(test, port, "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")) === "");
    });

    it("closes connections beyond the limit at once, in total and per address", async (test) => {
      for (const settings of [{ maxConnections: 2 }, { maxConnectionsPerAddress: 2 }]) {
        const { port, proxy } = await startRig(test, engine, {
          upstream: (_incoming, response) => response.end("ok"),
          settings,
        });
        const [first, second] = [await dial(test, port), await dial(test, port)];
        const third = connect(port, "127.0.0.1").on("error", () => {});
        await new Promise((resolve) => third.resume().once("close", resolve));
        assert.deepEqual([proxy.connections().accepted, proxy.connections().handled], [3, 2]);
        second.write(GET);
        await receiveUntil(second, "ok");
        first.destroy();
        await becomes(() => proxy.connections().active === 1);
        assert.equal((await sendRequest(port)).status, 200, "new connections are accepted again");
      }
    });
  });

  describe(`clients that are silent: the ${engine.name} engine`, () => {
    it("answers 408, closes the connection and aborts the upstream request when a body does not arrive", async (test) => {
      const gone = signal();
      const { port } = await startRig(test, engine, {
        upstream: (incoming) => void incoming.on("error", () => {}).socket.once("close", () => gone.fire()),
        settings: { bodyTimeout: 100 },
      });
      const all = await sendRaw(test, port, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nhello");
      assert.match(all, /^HTTP\/1\.1 408 .*Request timeout/s);
      await gone.seen;
    });

    it("does not count time against a client while its upstream reads nothing", async (test) => {
      const rest = signal();
      const { port } = await startRig(test, engine, {
        upstream: async (incoming, response) => {
          incoming.pause();
          await rest.seen;
          incoming.resume().on("end", () => response.end("all"));
        },
        settings: { bodyTimeout: 100 },
      });
      const length = 16 * 1024 * 1024;
      const client = await dial(test, port);
      client.write(`POST / HTTP/1.1\r\nHost: a\r\nContent-Length: ${length}\r\n\r\n`);
      client.write(Buffer.alloc(length));
      const silent = await startRig(test, engine, { settings: { headersTimeout: 300 } });
      await sendRaw(test, silent.port, "GET");
      rest.fire();
      await receiveUntil(client, "all");
    });

    it("closes the connection of a client that does not read its response", async (test) => {
      const gone = signal();
      const { port } = await startRig(test, engine, {
        upstream: (_incoming, response) => {
          response.on("close", () => gone.fire()).end(Buffer.alloc(32 * 1024 * 1024));
        },
        settings: { sendTimeout: 100 },
      });
      const client = await dial(test, port);
      client.pause().write(GET);
      await gone.seen;
    });
  });

  // Only engines with our own socket handling have these limits.
  if (engine.name !== "http1") return;
  describe(`hostile clients: the ${engine.name} engine`, () => {
    it("stops forwarding pipelined requests while the client reads no responses", async (test) => {
      let served = 0;
      const { port } = await startRig(test, engine, {
        upstream: (_incoming, response) => {
          served++;
          response.end(Buffer.alloc(1024 * 1024));
        },
        settings: { sendTimeout: 100 },
      });
      const client = await dial(test, port);
      client.pause().write(GET.repeat(1000));
      client.once("close", () => {});
      const watched = await startRig(test, engine, { settings: { headersTimeout: 300 } });
      await sendRaw(test, watched.port, "GET");
      assert.ok(served < 50, `${served} were served`);
    });

    it("limits the number of requests on a connection", async (test) => {
      const { port } = await startRig(test, engine, {
        upstream: (_incoming, response) => response.end("ok"),
        settings: { maxRequests: 2 },
      });
      const all = await sendRaw(test, port, GET.repeat(3));
      assert.deepEqual(all.match(/\r\nConnection: [a-z-]+/g), ["\r\nConnection: keep-alive", "\r\nConnection: close"]);
    });
  });
}
