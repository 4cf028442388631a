/** Interim responses (RFC 9110 section 15.2): engine `http1` forwards them at once; they do not extend read_timeout. */
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { createServer, type Socket } from "node:net";
import { describe, it, type TestContext } from "node:test";
import { dial, receiveUntil, sendRaw, sendRequest, signal } from "./client.ts";
import { startHttp2 } from "./http2.ts";
import { requestHttp2, startHttp2Upstream } from "./http2-client.ts";
import { block, dialFrames, frame, frameBytes, frameFlags, plainRequest } from "./http2-frames.ts";
import { type Engine, listen, portOf, startRig } from "./proxy-rig.ts";

const GET = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";
const OK = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
const hints = (size: number): string => `HTTP/1.1 103 Early Hints\r\nLink: ${"x".repeat(size)}\r\n\r\n`;

/** Starts an upstream that passes each connection to `serve` once a request has arrived; returns the port. */
async function startAsked(test: TestContext, serve: (socket: Socket) => void): Promise<number> {
  const server = createServer((socket) => {
    socket.on("error", () => {}).once("data", () => serve(socket));
  });
  return portOf(await listen(test, server));
}

/** Writes `piece` without end, as fast as the peer reads. */
function flood(socket: Socket, piece: string): void {
  const go = () => {
    while (!socket.destroyed && socket.write(piece));
  };
  socket.on("drain", go);
  go();
}

export function interimSuite(engine: Engine): void {
  describe(`interim responses (${engine.name})`, () => {
    it("do not extend read_timeout", async (test) => {
      const upstream = await startAsked(test, (socket) => {
        const timer = setInterval(() => socket.write(hints(1)), 20);
        socket.once("close", () => clearInterval(timer));
      });
      const { port } = await startRig(test, engine, { upstream, service: { read_timeout: 300, retries: 0 } });
      assert.equal((await sendRequest(port)).status, 504);
    });

    it("may arrive before the response in pieces of any size", async (test) => {
      const upstream = await startAsked(test, (socket) => {
        socket.setNoDelay(true);
        for (const piece of `${hints(5)}${hints(50)}${OK}`) socket.write(piece);
      });
      const { port } = await startRig(test, engine, { upstream });
      assert.equal((await sendRequest(port)).body, "ok");
    });
  });

  // @fastify/reply-from forwards no interim responses.
  if (engine.name !== "http1") return;
  describe(`interim responses to clients (${engine.name})`, () => {
    it("are forwarded at once, without a length", async (test) => {
      const asked = signal<Socket>();
      const upstream = await startAsked(test, (socket) => {
        socket.write("HTTP/1.1 103 Early Hints\r\nContent-Length: 0\r\nLink: </a>\r\n\r\n");
        asked.fire(socket);
      });
      const { port } = await startRig(test, engine, { upstream });
      const client = await dial(test, port);
      client.write(GET);
      assert.equal(await receiveUntil(client, "\r\n\r\n"), "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n");
      (await asked.seen).write(OK);
      await receiveUntil(client, "ok");
    });

    it("are all forwarded if there are 100 of them", async (test) => {
      const upstream = await startAsked(test, (socket) => socket.write(hints(100).repeat(100) + OK));
      const { port } = await startRig(test, engine, { upstream });
      const client = await dial(test, port);
      client.write(GET);
      assert.equal((await receiveUntil(client, "\r\n\r\nok")).match(/ 103 /g)?.length, 100);
    });

    for (const [says, size] of [
      ["many", 1],
      ["large", 10_000],
    ] as const) {
      it(`cause a 502 when they are too ${says}, and the upstream connection is closed`, async (test) => {
        const gone = signal();
        const upstream = await startAsked(test, (socket) => {
          socket.once("close", () => gone.fire());
          flood(socket, hints(size));
        });
        const { port, log } = await startRig(test, engine, { upstream });
        const client = await dial(test, port);
        client.write(GET);
        const all = await receiveUntil(client, "request_id");
        assert.match(all, /HTTP\/1\.1 502 /);
        assert.ok(all.length < 200_000, `${all.length}`);
        await gone.seen;
        assert.match(JSON.stringify(log), /interim/);
      });

      it(`cause a 502 for an HTTP/2 client when they are too ${says}`, async (test) => {
        const upstream = await startAsked(test, (socket) => flood(socket, hints(size)));
        const { session } = await startHttp2(test, engine, { upstream });
        const { status, interims } = await requestHttp2(session);
        assert.equal(status, 502);
        assert.ok(interims.length <= 100, `${interims.length}`);
      });
    }

    it("are partly dropped for an HTTP/2 client that reads nothing, but the final responses are not", async (test) => {
      const [streams, each] = [80, 90];
      const hint = () => `HTTP/1.1 103 Early Hints\r\nLink: ${randomBytes(650).toString("hex")}\r\n\r\n`;
      const all = `${Array.from({ length: each }, hint).join("")}${OK}`;
      const upstream = await startAsked(test, (socket) => socket.write(all));
      const { port } = await startRig(test, engine, { upstream, settings: { cleartextHttp2: true } });
      const client = await dialFrames(test, port);
      client.socket.pause();
      const requests = Array.from({ length: streams }, (_, at) =>
        frameBytes(frame.headers, frameFlags.endStream | frameFlags.endHeaders, 2 * at + 1, block(plainRequest)),
      );
      client.send(...requests);
      const clock = await startRig(test, engine, { settings: { headersTimeout: 1000 } });
      await sendRaw(test, clock.port, "GET");
      client.socket.resume();
      for (let at = 0; at < streams; at++) {
        await client.until(
          ({ stream, type, flags }) => stream === 2 * at + 1 && type === frame.data && (flags & 1) === 1,
        );
      }
      const heads = client.frames.filter(({ type }) => type === frame.headers).length;
      assert.ok(heads > streams && heads < streams * each, `${heads}`);
    });

    it("cause a gRPC error when an HTTP/2 upstream sends too many", async (test) => {
      const upstream = await startHttp2Upstream(test, (stream) => {
        for (let at = 0; at < 200; at++) stream.additionalHeaders({ ":status": 103, link: "x" });
      });
      const { session } = await startHttp2(test, engine, {
        upstream,
        route: { protocols: ["grpc"] },
        service: { protocol: "grpc" },
      });
      const headers = { ":method": "POST", "content-type": "application/grpc", te: "trailers" };
      const { interims, headers: answer } = await requestHttp2(session, { headers, body: "" });
      assert.ok(interims.length <= 100, `${interims.length}`);
      assert.ok(Number(answer["grpc-status"]) > 0, JSON.stringify(answer));
    });
  });
}
