/** Clients that send and read a little at a time, so that idle timeouts never apply. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { constants } from "node:http2";
import { createServer, type Socket } from "node:net";
import { describe, it, type TestContext } from "node:test";
import type { ProxySettings } from "../../../gateway/src/proxy/settings.ts";
import { dial, receiveUntil, sendRaw, signal } from "./client.ts";
import { startHttp2 } from "./http2.ts";
import { grpcHeaders, message, receivedBody, responseOfStream, startHttp2Upstream } from "./http2-client.ts";
import { type Engine, listen, portOf, type RigOptions, startRig } from "./proxy-rig.ts";

const MEGABYTE = 1024 * 1024;
const PIECE = Buffer.alloc(65_536);
const POST = `POST / HTTP/1.1\r\nHost: a\r\nContent-Length: ${MEGABYTE}\r\n\r\n`;

/** Writes one piece per interval; `every` is in milliseconds. */
function drip(test: TestContext, client: Socket, { pieces, every }: { pieces: Iterable<string>; every: number }): void {
  const left = pieces[Symbol.iterator]();
  const timer = setInterval(() => {
    const { done, value } = left.next();
    if (done || client.destroyed) clearInterval(timer);
    else client.write(value);
  }, every);
  test.after(() => clearInterval(timer));
}

/** Reads one chunk per interval; `every` is in milliseconds. */
function sip(client: Socket, every: number): void {
  client.on("data", () => {
    client.pause();
    setTimeout(() => client.resume(), every);
  });
}

const times = (count: number, piece: string): readonly string[] => Array.from({ length: count }, () => piece);

/** Everything received until the connection closes. */
async function everything(client: Socket): Promise<string> {
  let all = "";
  client.on("data", (chunk) => {
    all += chunk.toString("latin1");
  });
  if (!client.closed) await new Promise((resolve) => client.once("close", resolve));
  return all;
}

/** Bytes that the kernel buffers for a client that reads nothing. */
async function keptBySystem(test: TestContext): Promise<number> {
  const taken = signal<number>();
  const server = await listen(
    test,
    createServer((socket) => {
      let written = 0;
      const fill = () => {
        do written += PIECE.length;
        while (socket.write(PIECE));
      };
      socket.on("error", () => {}).on("drain", fill);
      fill();
      setTimeout(() => taken.fire(written - socket.writableLength), 300);
    }),
  );
  (await dial(test, portOf(server))).pause();
  return taken.seen;
}

/** Long timeouts and no minimum rate: each test overrides the settings that it is about. */
const patient: Partial<ProxySettings> = {
  bodyTimeout: 60_000,
  sendTimeout: 60_000,
  bodyMinRate: 0,
  sendMinRate: 0,
  minRateGrace: 100,
};

/** An upstream that responds after the complete body. */
const takesAll: RigOptions["upstream"] = (incoming, response) => {
  let length = 0;
  incoming
    .on("error", () => {})
    .on("data", (chunk: Buffer) => {
      length += chunk.length;
    })
    .on("end", () => response.end(`got ${length}`));
};

export function slowClientSuite(engine: Engine): void {
  describe(`slow clients: the ${engine.name} engine`, () => {
    it("limits the total time for a head, however it arrives", async (test) => {
      const { port } = await startRig(test, engine, { settings: { ...patient, headersTimeout: 200 } });
      const client = await dial(test, port);
      const all = everything(client);
      drip(test, client, { pieces: `GET / HTTP/1.1\r\nHost: a\r\nX: ${"a".repeat(10_000)}`, every: 5 });
      assert.match(await all, /^HTTP\/1\.1 408 .*Request timeout/s);
    });
  });

  describe(`minimum rates: the ${engine.name} engine`, () => {
    const drips: readonly (readonly [says: string, first: string, piece: string])[] = [
      ["a body", POST, "a"],
      ["a body in chunks", "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n", "1\r\na\r\n"],
      ["a body that was fast at first", `${POST}${"a".repeat(100_000)}`, "a"],
    ];
    for (const [says, first, piece] of drips) {
      it(`answers 408, closes the connection and aborts the upstream request when ${says} arrives below the minimum rate`, async (test) => {
        const gone = signal();
        const { port } = await startRig(test, engine, {
          upstream: (incoming) =>
            void incoming
              .on("error", () => {})
              .resume()
              .socket.once("close", () => gone.fire()),
          settings: { ...patient, bodyTimeout: 500, bodyMinRate: 10_000 },
        });
        const client = await dial(test, port);
        const all = everything(client);
        client.write(first);
        drip(test, client, { pieces: times(10_000, piece), every: 10 });
        assert.match(await all, /^HTTP\/1\.1 408 .*Request timeout/s);
        await gone.seen;
      });
    }

    it("serves a slow client above the minimum rate", async (test) => {
      const { port } = await startRig(test, engine, {
        upstream: takesAll,
        settings: { ...patient, bodyMinRate: 10_000 },
      });
      const client = await dial(test, port);
      client.write("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 60000\r\n\r\n");
      drip(test, client, { pieces: times(60, "a".repeat(1000)), every: 5 });
      await receiveUntil(client, "got 60000");
    });

    it("does not count time in which the gateway did not read the body", async (test) => {
      const rest = signal();
      const { port } = await startRig(test, engine, {
        upstream: async (incoming, response) => {
          incoming.pause();
          await rest.seen;
          incoming.resume().on("end", () => response.end("all"));
        },
        plugins: { cors: { access: () => new Promise<undefined>((resolve) => setTimeout(resolve, 300, undefined)) } },
        settings: { ...patient, bodyMinRate: 20 * MEGABYTE, minRateGrace: 250 },
      });
      const length = 16 * MEGABYTE;
      const client = await dial(test, port);
      client.write(`POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: ${length}\r\n\r\n`);
      await receiveUntil(client, "100 Continue");
      client.write(Buffer.alloc(length));
      const clock = await startRig(test, engine, { settings: { headersTimeout: 500 } });
      await sendRaw(test, clock.port, "GET");
      rest.fire();
      await receiveUntil(client, "all");
    });

    it("does not count time against a client while the gateway is busy", async (test) => {
      const begun = signal();
      const { port } = await startRig(test, engine, {
        upstream: (incoming, response) => {
          incoming.once("data", () => begun.fire()).on("end", () => response.end("all"));
        },
        settings: { ...patient, bodyTimeout: 200 },
      });
      const client = await dial(test, port);
      const all = receiveUntil(client, "all");
      client.write("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nhello");
      await begun.seen;
      client.write("world");
      for (const end = performance.now() + 750; performance.now() < end; );
      await all;
    });

    it("closes the connection of a client that reads its response below the minimum rate", async (test) => {
      const gone = signal();
      const { port } = await startRig(test, engine, {
        upstream: (_incoming, response) =>
          void response.on("close", () => gone.fire()).end(Buffer.alloc(64 * MEGABYTE)),
        settings: { ...patient, sendMinRate: 50 * MEGABYTE },
      });
      const client = await dial(test, port);
      sip(client, 20);
      const closed = new Promise((resolve) => client.once("close", resolve));
      client.write("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
      await gone.seen;
      client.removeAllListeners("data").resume();
      await closed;
    });

    it("lets a client read the end of its last response after the gateway has written it", async (test) => {
      // The kernel buffers about `kept` bytes of a response. The `sizes` are below and above this number, so the
      // gateway still holds the ends of some responses while the clients read nothing.
      const kept = await keptBySystem(test);
      const sizes = Array.from({ length: 50 }, (_, step) => kept + (step - 20) * 10_000);
      const content = Buffer.alloc(kept + 300_000);
      const { port } = await startRig(test, engine, {
        upstream: ({ url = "" }, response) => void response.end(content.subarray(0, Number(url.slice(1)))),
        settings: patient,
      });
      const clients = await Promise.all(
        sizes.map(async (size) => {
          const client = await dial(test, port);
          client.pause().write(`GET /${size} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`);
          return client;
        }),
      );
      const clock = await startRig(test, engine, { settings: { headersTimeout: 3000 } });
      await sendRaw(test, clock.port, "GET");
      const bodies = clients.map(async (client) => {
        let first: Buffer | null = null;
        let length = 0;
        client.on("data", (chunk: Buffer) => {
          first ??= chunk;
          length += chunk.length;
        });
        await once(client.resume(), "close");
        return length - (first ?? content).indexOf("\r\n\r\n") - 4;
      });
      assert.deepEqual(await Promise.all(bodies), sizes);
    });

    it("does not count time in which there was nothing to read", async (test) => {
      const { port } = await startRig(test, engine, {
        upstream: (_incoming, response) => {
          const timer = setInterval(() => response.write("tick"), 10);
          setTimeout(() => response.end("tock"), 500).unref();
          response.once("close", () => clearInterval(timer));
        },
        settings: { ...patient, sendMinRate: MEGABYTE },
      });
      const client = await dial(test, port);
      client.write("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
      await receiveUntil(client, "tock");
    });
  });

  if (engine.name !== "http1") return;
  describe(`minimum rates of HTTP/2 streams: the ${engine.name} engine`, () => {
    it("answers 408 to a body below the minimum rate, and aborts the upstream request", async (test) => {
      const gone = signal();
      const { session } = await startHttp2(test, engine, {
        upstream: (incoming) =>
          void incoming
            .on("error", () => {})
            .resume()
            .socket.once("close", () => gone.fire()),
        settings: { ...patient, bodyMinRate: 10_000 },
      });
      const stream = session.request({ ":path": "/", ":method": "POST" });
      const answer = responseOfStream(stream);
      const timer = setInterval(() => void stream.write("a"), 10);
      test.after(() => clearInterval(timer));
      // The two events may come in any order.
      await Promise.all([gone.seen, once(stream, "end")]);
      clearInterval(timer);
      stream.end();
      assert.equal((await answer).status, 408);
      assert.equal(session.destroyed, false);
    });

    it("resets the stream of a client that reads its response below the minimum rate", async (test) => {
      const gone = signal();
      const { session } = await startHttp2(test, engine, {
        upstream: (_incoming, response) =>
          void response.on("close", () => gone.fire()).end(Buffer.alloc(64 * MEGABYTE)),
        settings: { ...patient, sendMinRate: 50 * MEGABYTE },
      });
      const stream = session.request({ ":path": "/" });
      const answer = responseOfStream(stream);
      stream.on("data", () => {
        stream.pause();
        setTimeout(() => stream.resume(), 20);
      });
      await gone.seen;
      assert.equal((await answer).rstCode, constants.NGHTTP2_INTERNAL_ERROR);
      assert.equal(session.destroyed, false);
    });

    it("exempts gRPC calls, whose messages may be far apart", async (test) => {
      const upstream = await startHttp2Upstream(test, async (stream) => {
        stream.respond({ ":status": 200, "content-type": "application/grpc" }, { waitForTrailers: true });
        stream.once("wantTrailers", () => stream.sendTrailers({ "grpc-status": "0" }));
        await receivedBody(stream);
        stream.end(message("done"));
      });
      const { session } = await startHttp2(test, engine, {
        upstream,
        route: { protocols: ["grpc"] },
        service: { protocol: "grpc" },
        settings: { ...patient, bodyTimeout: 200, bodyMinRate: 10_000 },
      });
      const stream = session.request(grpcHeaders);
      const answer = responseOfStream(stream);
      stream.write(message("one"));
      setTimeout(() => stream.end(message("two")), 500);
      const { status, body } = await answer;
      assert.deepEqual([status, body], [200, message("done")]);
    });
  });
}
