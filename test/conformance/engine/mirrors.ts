/** Copies of requests for other services (`mirror` of an exchange). */
import assert from "node:assert/strict";
import type { IncomingHttpHeaders, RequestListener } from "node:http";
import { describe, it, type TestContext } from "node:test";
import type { Exchange, MirrorFailure, PluginPhases } from "@sluice/plugin-sdk";
import { serviceNamed } from "../../../gateway/src/compile/testing-entities.ts";
import { freePort } from "../../../tools/process/index.ts";
import { dial, receiveUntil, type Sent, sendRequest, signal } from "./client.ts";
import { startHttp2 } from "./http2.ts";
import { grpcHeaders, message, requestHttp2, startHttp2Upstream } from "./http2-client.ts";
import { type Engine, portOf, type RigOptions, startRig, startUpstream } from "./proxy-rig.ts";

/** A server that answers every request and records it. */
function recorder() {
  const requests: {
    method: string | undefined;
    url: string | undefined;
    headers: IncomingHttpHeaders;
    body: string;
  }[] = [];
  const listener: RequestListener = (request, response) => {
    const pieces: Buffer[] = [];
    request.on("data", (piece: Buffer) => pieces.push(piece)).on("error", () => {});
    request.on("end", () => {
      const { method, url, headers } = request;
      requests.push({ method, url, headers, body: Buffer.concat(pieces).toString() });
      response.end("answer");
    });
  };
  return { requests, listener };
}

/** Plugin phases that mirror every request. `next` resolves to the result of the next copy. */
function mirroring(members: { readonly service?: string; readonly maxBody?: number; readonly timeout?: number } = {}) {
  let ended = signal<MirrorFailure | null>();
  const mirror = (exchange: Exchange): undefined => {
    const options = { service: "mirror", maxBody: 1000, timeout: 10_000, ...members };
    exchange.mirror({ ...options, onEnd: (failure) => ended.fire(failure) });
  };
  return {
    phases: { access: mirror } satisfies PluginPhases,
    async next() {
      const failure = await ended.seen;
      ended = signal();
      return failure;
    },
  };
}

/** Starts a rig whose requests are mirrored. */
async function start(
  test: TestContext,
  engine: Engine,
  {
    mirror,
    phases,
    ...options
  }: RigOptions & { readonly mirror: RequestListener | number; readonly phases: PluginPhases },
) {
  const port = typeof mirror === "number" ? mirror : portOf(await startUpstream(test, mirror));
  const rig = await startRig(test, engine, {
    services: [serviceNamed("mirror", { port })],
    ...options,
    plugins: { "request-mirror": phases, ...options.plugins },
  });
  return rig.port;
}

/** The headers that describe neither the framing of the message nor its connection. */
const unframed = ({ "content-length": _, "transfer-encoding": __, connection: ___, ...headers }: IncomingHttpHeaders) =>
  headers;

const cases: Readonly<Record<string, Sent>> = {
  "with a query": { path: "/a%2Fb?x=%20" },
  "with a body of known length": { method: "PUT", headers: { "Content-Length": "4" }, body: "text" },
  "with a chunked body": { method: "POST", headers: { "Transfer-Encoding": "chunked", Cookie: "a=1" }, body: "text" },
  "without the body that its method usually has": { method: "POST", headers: { "Content-Length": "0" } },
  "with the method HEAD": { method: "HEAD" },
};

export function mirrorSuite(engine: Engine): void {
  describe(`copies of requests (${engine.name})`, () => {
    for (const [title, sent] of Object.entries(cases)) {
      it(`have method, path, headers and body of a request ${title}`, async (test) => {
        const [upstream, mirror] = [recorder(), recorder()];
        const { phases, next } = mirroring();
        const port = await start(test, engine, { upstream: upstream.listener, mirror: mirror.listener, phases });
        // The second copy uses the connection of the first.
        for (const count of [1, 2]) {
          assert.equal((await sendRequest(port, sent)).status, 200);
          assert.equal(await next(), null);
          const [one, other] = [upstream, mirror].map(({ requests }) => requests[count - 1] ?? assert.fail());
          assert.deepEqual({ ...other, headers: {} }, { ...one, headers: {} });
          const host = other?.headers.host;
          assert.notEqual(host, one?.headers.host, "each service has a host of its own");
          assert.deepEqual({ ...unframed(other?.headers ?? {}), host }, { ...unframed(one?.headers ?? {}), host });
        }
      });
    }

    it("have the edits of all plugins, the service's path, but not its own headers, and the client's host if preserved", async (test) => {
      const [upstream, mirror] = [recorder(), recorder()];
      const { phases, next } = mirroring();
      const port = await start(test, engine, {
        upstream: upstream.listener,
        mirror: mirror.listener,
        phases,
        service: { path: "/base", upstream_headers: [{ name: "X-Secret", value: "of the service" }] },
        route: { preserve_host: true },
        plugins: {
          "key-auth": {
            async access({ request, upstreamHeaders }) {
              await request.body(100);
              upstreamHeaders.set("X-User", "alice");
              upstreamHeaders.remove("Authorization");
              return undefined;
            },
          },
        },
      });
      const headers = { Host: "a.test", Authorization: "secret", "X-Kept": "1" };
      await sendRequest(port, { method: "POST", path: "/x", headers, body: "text" });
      await next();
      const [{ url, headers: seen, body } = assert.fail()] = mirror.requests;
      assert.deepEqual([url, body, seen.host], ["/base/x", "text", "a.test"]);
      assert.deepEqual([seen["x-user"], seen.authorization, seen["x-kept"]], ["alice", undefined, "1"]);
      const secrets = [upstream, mirror].map(({ requests: [first] }) => first?.headers["x-secret"]);
      assert.deepEqual(secrets, ["of the service", undefined]);
    });

    it("neither delay nor fail a request if the mirror is silent, refuses connections or does not exist", async (test) => {
      const silent = portOf(await startUpstream(test, () => {}));
      const closed = await freePort();
      for (const [mirror, members, reason] of [
        [silent, { timeout: 50 }, /^failed: no complete response within 50 ms$/],
        [closed, {}, /^failed: .*ECONNREFUSED/],
        [closed, { service: "nowhere" }, /^dropped: there is no enabled service nowhere$/],
      ] as const) {
        const { phases, next } = mirroring(members);
        const port = await start(test, engine, { upstream: recorder().listener, mirror, phases });
        const { status, body } = await sendRequest(port, { method: "POST", body: "text" });
        assert.deepEqual([status, body], [200, "answer"]);
        const failure = await next();
        assert.match(`${failure?.kind}: ${failure?.reason}`, reason);
      }
    });

    it("are sent once, with the whole body, if the request is sent again", async (test) => {
      const mirror = recorder();
      const { phases, next } = mirroring();
      const statuses = [503, 200];
      let attempts = 0;
      const port = await start(test, engine, {
        upstream: (request, response) =>
          void request.resume().on("end", () => response.writeHead(statuses[attempts++] ?? 500).end()),
        mirror: mirror.listener,
        phases,
        service: { retries: 1, _sluice: { retry: { codes: [503], backoff: 0 } } },
      });
      assert.equal((await sendRequest(port, { method: "PUT", body: "text" })).status, 200);
      await next();
      assert.deepEqual([attempts, mirror.requests.map(({ body }) => body)], [2, ["text"]]);
    });

    it("are dropped if the body is longer than allowed, which the upstream receives nevertheless", async (test) => {
      const [upstream, mirror] = [recorder(), recorder()];
      const { phases, next } = mirroring({ maxBody: 10 });
      const port = await start(test, engine, { upstream: upstream.listener, mirror: mirror.listener, phases });
      for (const [name, value] of [
        ["Content-Length", "11"],
        ["Transfer-Encoding", "chunked"],
      ] as const) {
        await sendRequest(port, { method: "POST", headers: { [name]: value }, body: "0123456789a" });
        assert.deepEqual(await next(), { kind: "dropped", reason: "the body has more than 10 bytes" });
      }
      assert.deepEqual(
        upstream.requests.map(({ body }) => body),
        ["0123456789a", "0123456789a"],
      );
      assert.equal(mirror.requests.length, 0);
    });

    it("are dropped if the client does not send the whole body", async (test) => {
      const first = signal();
      const { phases, next } = mirroring();
      const port = await start(test, engine, {
        upstream: (request) => void request.on("error", () => {}).once("data", () => first.fire()),
        mirror: () => assert.fail("the mirror got a request"),
        phases,
      });
      const socket = await dial(test, port);
      socket.write("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nhello");
      await first.seen;
      socket.destroy();
      assert.deepEqual(await next(), { kind: "dropped", reason: "the body was not forwarded completely" });
    });

    it("are dropped while 100 of them are under way to the service", async (test) => {
      const { phases, next } = mirroring();
      const port = await start(test, engine, { upstream: recorder().listener, mirror: () => {}, phases });
      for (let count = 0; count < 101; count++) assert.equal((await sendRequest(port)).status, 200);
      assert.deepEqual(await next(), { kind: "dropped", reason: "100 copies are under way" });
    });

    it("are not made of requests for a WebSocket", async (test) => {
      const { phases } = mirroring();
      const port = await start(test, engine, {
        upstream: recorder().listener,
        mirror: () => assert.fail("the mirror got a request"),
        phases,
      });
      const socket = await dial(test, port);
      const answer = receiveUntil(socket, "answer");
      const handshake = "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n";
      socket.write(`GET / HTTP/1.1\r\nHost: a\r\n${handshake}Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n`);
      assert.match(await answer, /^HTTP\/1.1 200 /);
    });

    if (engine.name !== "http1") return;

    it("are made of requests over HTTP/2", async (test) => {
      const mirror = recorder();
      const { phases, next } = mirroring();
      const port = portOf(await startUpstream(test, mirror.listener));
      const { session } = await startHttp2(test, engine, {
        upstream: recorder().listener,
        services: [serviceNamed("mirror", { port })],
        plugins: { "request-mirror": phases },
      });
      const { status } = await requestHttp2(session, {
        headers: { ":method": "POST", ":path": "/a?b", "x-a": "1" },
        body: "text",
      });
      assert.deepEqual([status, await next()], [200, null]);
      const [{ method, url, headers, body } = assert.fail()] = mirror.requests;
      assert.deepEqual([method, url, headers["x-a"], body], ["POST", "/a?b", "1", "text"]);
    });

    it("of gRPC calls are streams of HTTP/2", async (test) => {
      const received = signal<string>();
      const answerTo = (onBody: (body: string) => void) =>
        startHttp2Upstream(test, (stream, { ":path": path, te }) => {
          const pieces: Buffer[] = [];
          stream.on("data", (piece: Buffer) => pieces.push(piece));
          stream.once("end", () => {
            onBody(`${path} ${te} ${Buffer.concat(pieces).subarray(5)}`);
            stream.respond({ ":status": 200, "grpc-status": "0" }, { endStream: true });
          });
        });
      const [upstream, port] = [await answerTo(() => {}), await answerTo(received.fire)];
      const { phases, next } = mirroring();
      const { session } = await startHttp2(test, engine, {
        upstream,
        route: { protocols: ["grpc", "grpcs"], strip_path: false },
        service: { protocol: "grpc" },
        services: [serviceNamed("mirror", { port, protocol: "grpc" })],
        plugins: { "request-mirror": phases },
      });
      await requestHttp2(session, { headers: { ...grpcHeaders, te: "trailers" }, body: message("hello") });
      assert.equal(await next(), null);
      assert.equal(await received.seen, "/hello.Greeter/Say trailers hello");
    });
  });
}
