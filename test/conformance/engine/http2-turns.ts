/** HTTP/2 streams that share a connection's bandwidth: one waits while another is served. */
import assert from "node:assert/strict";
import { type ClientHttp2Session, type ClientHttp2Stream, constants } from "node:http2";
import { connect, createServer, type Socket } from "node:net";
import { describe, it, type TestContext } from "node:test";
import type { ProxySettings } from "../../../gateway/src/proxy/settings.ts";
import { sendRaw, signal } from "./client.ts";
import { startHttp2 } from "./http2.ts";
import { dialHttp2, responseOfStream } from "./http2-client.ts";
import { block, dialFrames, frame, frameBytes, frameFlags, plainRequest } from "./http2-frames.ts";
import { type Engine, listen, portOf, type RigOptions, startRig } from "./proxy-rig.ts";

const KILOBYTE = 1024;

/** Starts a link to the port, limited to `rate` bytes per second in each direction; returns the link's own port. */
async function startLine(test: TestContext, port: number, rate: number): Promise<number> {
  const carry = (from: Socket, to: Socket) =>
    from
      .on("data", (chunk: Buffer) => {
        to.write(chunk);
        from.pause();
        setTimeout(() => from.resume(), (chunk.length / rate) * 1000);
      })
      .on("error", () => {})
      .on("close", () => to.destroy());
  const server = createServer((client) => {
    const onward = connect(port, "127.0.0.1");
    carry(client, onward);
    carry(onward, client);
  });
  return portOf(await listen(test, server));
}

/** Responds to a POST with the length of its body, and to other requests with as many bytes as the path says. */
const upstream: RigOptions["upstream"] = (incoming, response) => {
  let length = 0;
  incoming
    .on("error", () => {})
    .on("data", (chunk: Buffer) => {
      length += chunk.length;
    });
  incoming.on("end", () => {
    response.end(incoming.method === "POST" ? `${length}` : Buffer.alloc(Number(incoming.url?.slice(1))));
  });
};

/** Limits that a stream would exceed if they applied while other streams use the connection. */
const strict: Partial<ProxySettings> = {
  bodyMinRate: 60,
  sendMinRate: 60,
  minRateGrace: 300,
  bodyTimeout: 1000,
  sendTimeout: 1000,
};

/** A session over a slow link with a gateway that has these limits. */
async function dialSlowly(test: TestContext, engine: Engine): Promise<ClientHttp2Session> {
  const { rig } = await startHttp2(test, engine, { upstream, settings: strict });
  return dialHttp2(test, await startLine(test, rig.port, 2000 * KILOBYTE));
}

const posting = { ":path": "/", ":method": "POST" };

/** Waits until a timer of the gateway has run for this many milliseconds. */
async function pass(test: TestContext, engine: Engine, milliseconds: number): Promise<void> {
  const { port } = await startRig(test, engine, { settings: { headersTimeout: milliseconds } });
  await sendRaw(test, port, "GET");
}

const isOpen = (stream: ClientHttp2Stream): boolean => !stream.closed && !stream.destroyed;

export function http2TurnSuite(engine: Engine): void {
  if (engine.name !== "http1") return;
  describe(`streams on a slow connection: the ${engine.name} engine`, () => {
    it("does not abort a response that is idle while other responses use the connection", async (test) => {
      const session = await dialSlowly(test, engine);
      const size = 500 * KILOBYTE;
      const all = Array.from({ length: 8 }, () => responseOfStream(session.request({ ":path": `/${size}` })));
      const ends = (await Promise.all(all)).map(({ body, rstCode }) => [body.length, rstCode]);
      assert.deepEqual(
        ends,
        all.map(() => [size, 0]),
      );
    });

    it("does not abort a request body that is idle while other bodies use the connection", async (test) => {
      const session = await dialSlowly(test, engine);
      const size = 500 * KILOBYTE;
      const all = Array.from({ length: 8 }, () => {
        const stream = session.request(posting);
        stream.end(Buffer.alloc(size));
        return responseOfStream(stream);
      });
      const ends = (await Promise.all(all)).map(({ status, body }) => [status, body.toString()]);
      assert.deepEqual(
        ends,
        all.map(() => [200, `${size}`]),
      );
    });

    it("resets a response that its client does not read, while the client reads later responses", async (test) => {
      const session = await dialSlowly(test, engine);
      const stuck = session.request({ ":path": `/${4000 * KILOBYTE}` });
      const end = new Promise<void>((resolve) => void stuck.on("error", () => {}).once("close", resolve));
      let taken = 0;
      while (isOpen(stuck)) {
        const { body } = await responseOfStream(session.request({ ":path": `/${300 * KILOBYTE}` }));
        taken += body.length;
      }
      await end;
      assert.equal(stuck.rstCode, constants.NGHTTP2_INTERNAL_ERROR);
      assert.ok(taken > 0);
    });

    it("answers 408 to a body that does not arrive, while later bodies arrive", async (test) => {
      const session = await dialSlowly(test, engine);
      const silent = session.request(posting);
      const answer = signal<number>();
      silent.on("response", (headers) => answer.fire(Number(headers[":status"]))).on("error", () => {});
      silent.write("hello");
      let status = 0;
      answer.seen.then((came) => {
        status = came;
      });
      while (status === 0) {
        const stream = session.request(posting);
        stream.end(Buffer.alloc(300 * KILOBYTE));
        assert.equal((await responseOfStream(stream)).status, 200);
      }
      assert.equal(status, 408);
    });

    it("resets all streams of a connection without progress", async (test) => {
      const gone = signal();
      let left = 3;
      const { rig } = await startHttp2(test, engine, {
        upstream: (_incoming, response) => {
          response.on("close", () => --left === 0 && gone.fire()).end(Buffer.alloc(32_000 * KILOBYTE));
        },
        settings: { ...strict, sendMinRate: 10_000 * KILOBYTE },
      });
      const session = dialHttp2(test, rig.port);
      for (let count = 0; count < 3; count++) session.request({ ":path": "/" }).on("error", () => {});
      await gone.seen;
    });

    for (const path of ["/", "/none"]) {
      it(`lets a client continue to send its body after an early response to ${path}`, async (test) => {
        const { rig } = await startHttp2(test, engine, {
          upstream: (_incoming, response) => response.end("early"),
          route: { paths: ["/only", "/$"] },
          settings: { ...strict, sendTimeout: 100 },
        });
        const client = await dialFrames(test, rig.port);
        const fields = plainRequest.map(([name, value]) => {
          if (name === ":method") return [name, "POST"] as const;
          return [name, name === ":path" ? path : value] as const;
        });
        client.send(frameBytes(frame.headers, frameFlags.endHeaders, 1, block(fields)));
        await client.until(({ type, flags }) => type === frame.data && flags === frameFlags.endStream);
        for (let turn = 0; turn < 3; turn++) {
          client.send(frameBytes(frame.data, 0, 1, Buffer.alloc(2000)));
          await pass(test, engine, 100);
        }
        client.send(frameBytes(frame.data, frameFlags.endStream, 1), frameBytes(frame.ping, 0, 0, Buffer.alloc(8)));
        await client.until(({ type, flags }) => type === frame.ping && flags === 1);
        assert.ok(!client.frames.some(({ type }) => type === frame.reset || type === frame.goAway));
      });
    }
  });
}
