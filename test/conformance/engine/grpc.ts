/** gRPC through the proxy: all kinds of calls, and failures. */
import assert from "node:assert/strict";
import { once } from "node:events";
import {
  constants,
  createSecureServer,
  createServer,
  type IncomingHttpHeaders,
  type ServerHttp2Stream,
} from "node:http2";
import { describe, it, type TestContext } from "node:test";
import { freePort } from "../../../tools/process/index.ts";
import { makeAuthority } from "../../../tools/programs/certificates.ts";
import { sendRequest, signal } from "./client.ts";
import { startHttp2 } from "./http2.ts";
import {
  dialHttp2Tls,
  grpcHeaders,
  type Http2Response,
  message,
  receivedBody,
  requestHttp2,
  responseOfStream,
  type ServerStreamHandler,
  startHttp2Upstream,
} from "./http2-client.ts";
import { type Engine, listen, portOf, type RigOptions, startRig } from "./proxy-rig.ts";

const OK = { "grpc-status": "0" };

/** Responds to the call with messages, and with trailers at the end. */
function reply(stream: ServerHttp2Stream, messages: readonly Buffer[], trailers: IncomingHttpHeaders = OK): void {
  stream.respond({ ":status": 200, "content-type": "application/grpc" }, { waitForTrailers: true });
  stream.once("wantTrailers", () => stream.sendTrailers(trailers));
  for (const each of messages) stream.write(each);
  stream.end();
}

const unary: ServerStreamHandler = async (stream) =>
  reply(stream, [await receivedBody(stream)], { ...OK, "x-sum": "7" });

const service: RigOptions["service"] = { protocol: "grpc" };
const route: RigOptions["route"] = { protocols: ["grpc", "grpcs"], strip_path: false };

/** A rig in front of an HTTP/2 upstream, and a client's connection to the rig. */
async function startGrpc(test: TestContext, engine: Engine, handler: ServerStreamHandler, options: RigOptions = {}) {
  const upstream = await startHttp2Upstream(test, handler);
  const { service: members, ...others } = options;
  return startHttp2(test, engine, { upstream, route, service: { ...service, ...members }, ...others });
}

const shown = ({ status, headers, trailers }: Http2Response) => [
  status,
  headers["grpc-status"] ?? trailers?.["grpc-status"],
];

export function grpcSuite(engine: Engine): void {
  if (engine.name !== "http1") return;
  describe(`gRPC: the ${engine.name} engine`, () => {
    it("forwards a call and its trailers, with the proxy's own headers", async (test) => {
      const seen = signal<IncomingHttpHeaders>();
      const { session } = await startGrpc(test, engine, (stream, headers, flat) => {
        seen.fire(headers);
        return unary(stream, headers, flat);
      });
      const asked = message("hello");
      const answer = await requestHttp2(session, {
        headers: { ...grpcHeaders, "grpc-timeout": "3S", "grpc-encoding": "identity", ":authority": "a.example" },
        body: asked,
      });
      assert.deepEqual(shown(answer), [200, "0"]);
      assert.deepEqual([answer.trailers?.["x-sum"], answer.headers.via], ["7", "2 sluice/1.2.3"]);
      assert.deepEqual(answer.body, asked);
      assert.ok(answer.headers["x-sluice-upstream-latency"]);
      const got = await seen.seen;
      assert.deepEqual([got[":path"], got[":scheme"], got.te], ["/hello.Greeter/Say", "http", "trailers"]);
      assert.deepEqual([got["grpc-timeout"], got["grpc-encoding"]], ["3S", "identity"]);
      assert.match(got[":authority"] ?? "", /^127\.0\.0\.1:\d+$/);
      assert.deepEqual([got["x-forwarded-host"], got.host], ["a.example", undefined]);
    });

    it("forwards each message of both sides as it arrives", async (test) => {
      const { session } = await startGrpc(test, engine, (stream) => {
        stream.respond({ ":status": 200, "content-type": "application/grpc" }, { waitForTrailers: true });
        stream.once("wantTrailers", () => stream.sendTrailers(OK));
        stream.on("data", (piece: Buffer) => stream.write(piece)).on("end", () => stream.end());
      });
      const stream = session.request(grpcHeaders);
      await once(stream, "response");
      for (const word of ["one", "two", "three"]) {
        stream.write(message(word));
        const [piece] = await once(stream, "data");
        assert.deepEqual(piece, message(word));
      }
      const trailers = once(stream, "trailers");
      stream.end();
      assert.equal((await trailers)[0]["grpc-status"], "0");
    });

    it("forwards a response that is only a head, and reads no body", async (test) => {
      const { session } = await startGrpc(test, engine, (stream) =>
        stream.respond({ ":status": 200, "grpc-status": "5", "grpc-message": "no%20such" }, { endStream: true }),
      );
      const answer = await requestHttp2(session, { headers: grpcHeaders, body: message("x") });
      assert.deepEqual(
        [...shown(answer), answer.headOnly, answer.headers["grpc-message"]],
        [200, "5", true, "no%20such"],
      );
    });

    it("forwards a response that ends before the client has sent all messages, and cancels the request to the upstream", async (test) => {
      const ended = signal<number>();
      const { session } = await startGrpc(test, engine, (stream) => {
        stream.resume().once("close", () => ended.fire(stream.rstCode ?? 0));
        reply(stream, [], { "grpc-status": "8" });
      });
      const stream = session.request(grpcHeaders);
      const answer = responseOfStream(stream);
      stream.write(message("first"));
      const [trailers] = await once(stream, "trailers");
      assert.equal(trailers["grpc-status"], "8");
      assert.equal(await ended.seen, constants.NGHTTP2_CANCEL);
      stream.end();
      assert.equal((await answer).rstCode, 0);
    });

    it("passes 8 MiB unchanged in both directions", async (test) => {
      const { session } = await startGrpc(test, engine, (stream) => {
        stream.respond({ ":status": 200, "content-type": "application/grpc" }, { waitForTrailers: true });
        stream.once("wantTrailers", () => stream.sendTrailers(OK));
        stream.pipe(stream);
      });
      const large = message(Buffer.alloc(8 * 1024 * 1024, "abc"));
      const answer = await requestHttp2(session, { headers: grpcHeaders, body: large });
      assert.ok(answer.body.equals(large));
      assert.deepEqual(shown(answer), [200, "0"]);
    });

    it("sends concurrent calls over one connection to the upstream", async (test) => {
      const sockets = new Set<unknown>();
      const { session } = await startGrpc(test, engine, (stream, headers, flat) => {
        sockets.add(stream.session);
        return unary(stream, headers, flat);
      });
      const calls = Array.from({ length: 50 }, (_, index) =>
        requestHttp2(session, { headers: grpcHeaders, body: message(`${index}`) }),
      );
      for (const [index, { body }] of (await Promise.all(calls)).entries()) assert.deepEqual(body, message(`${index}`));
      assert.equal(sockets.size, 1);
    });

    it("waits for a free stream when an upstream allows few calls at a time", async (test) => {
      const upstream = await startHttp2Upstream(test, unary, { settings: { maxConcurrentStreams: 2 } });
      const { session } = await startHttp2(test, engine, { upstream, route, service });
      const calls = Array.from({ length: 20 }, () =>
        requestHttp2(session, { headers: grpcHeaders, body: message("x") }),
      );
      for (const answer of await Promise.all(calls)) assert.deepEqual(shown(answer), [200, "0"]);
    });

    it("calls upstreams over TLS, and verifies their certificates unless tls_verify is false", async (test) => {
      const authority = await makeAuthority();
      const pair = await authority.issue({ name: "a", sans: ["a.example"], usage: "server" });
      const server = createSecureServer({ cert: pair.certificate, key: pair.key });
      server.on("stream", (stream: ServerHttp2Stream, headers: IncomingHttpHeaders) => unary(stream, headers, []));
      const upstream = portOf(await listen(test, server));
      const open = { protocol: "grpcs" as const, tls_verify: false };
      const { session } = await startHttp2(test, engine, { upstream, route, service: open });
      assert.deepEqual(shown(await requestHttp2(session, { headers: grpcHeaders, body: message("x") })), [200, "0"]);
      const strict = await startHttp2(test, engine, { upstream, route, service: { protocol: "grpcs" } });
      assert.deepEqual(shown(await requestHttp2(strict.session, { headers: grpcHeaders, body: message("x") })), [
        200,
        "14",
      ]);
    });

    it("uses HTTP/2 for gRPC calls to services of protocol http, and HTTP/1.1 for other requests", async (test) => {
      const server = createServer();
      server.on("stream", (stream: ServerHttp2Stream, headers: IncomingHttpHeaders) => unary(stream, headers, []));
      const upstream = portOf(await listen(test, server));
      const { session } = await startHttp2(test, engine, { upstream });
      assert.deepEqual(shown(await requestHttp2(session, { headers: grpcHeaders, body: message("x") })), [200, "0"]);
      const web = { ...grpcHeaders, "content-type": "application/grpc-web" };
      assert.equal((await requestHttp2(session, { headers: web, body: message("x") })).headers["grpc-status"], "14");
    });

    it("refuses requests that are not gRPC, that lack required TLS, or that use HTTP/1.1 for a service of protocol grpc", async (test) => {
      const { rig, session } = await startGrpc(test, engine, unary, { route: { ...route, protocols: ["grpcs"] } });
      const plain = await requestHttp2(session, { headers: { ":method": "POST" }, body: "x" });
      assert.deepEqual(
        [plain.status, JSON.parse(plain.body.toString()).message],
        [415, "Non-gRPC request matched gRPC route"],
      );
      const open = await requestHttp2(session, { headers: grpcHeaders, body: message("x") });
      assert.deepEqual([...shown(open), open.headers["grpc-message"]], [200, "1", "gRPC request matched gRPCs route"]);
      await rig.swap({ service, route: { protocols: ["http"] } });
      const old = await sendRequest(rig.port);
      assert.deepEqual([old.status, old.headers.upgrade], [426, "HTTP/2"]);
    });

    it("answers gRPC calls in gRPC's form: responses of plugins, failures, and calls without a route", async (test) => {
      const { rig, session } = await startHttp2(test, engine, {
        upstream: await freePort(),
        route: { ...route, paths: ["/hello.Greeter"] },
        service: { ...service, retries: 1 },
      });
      const call = () => requestHttp2(session, { headers: grpcHeaders, body: message("x") });
      const down = await call();
      assert.deepEqual([...shown(down), down.headOnly], [200, "14", true]);
      assert.equal(down.headers["grpc-message"], "An invalid response was received from the upstream server");
      assert.deepEqual([down.headers["content-type"], down.headers["content-length"]], ["application/grpc", undefined]);
      const statuses: number[] = [];
      await rig.swap({
        service,
        route: { ...route, paths: ["/hello.Greeter"] },
        plugins: {
          cors: { access: () => ({ status: 401, message: "No API key found in request" }) },
          prometheus: { log: ({ status }) => void statuses.push(status) },
        },
      });
      assert.deepEqual(shown(await call()), [200, "16"]);
      assert.deepEqual(statuses, [401]);
      const none = await requestHttp2(session, {
        headers: { ...grpcHeaders, ":path": "/other/Say" },
        body: message("x"),
      });
      assert.deepEqual(shown(none), [200, "12"]);
    });

    it("reports an upstream without HTTP/2 as unavailable", async (test) => {
      const { session } = await startHttp2(test, engine, {
        upstream: (_incoming, response) => response.end("HTTP/1.1"),
        route,
        service,
      });
      assert.deepEqual(shown(await requestHttp2(session, { headers: grpcHeaders, body: message("x") })), [200, "14"]);
    });

    it("retries a call that an upstream refused before processing, and a call that reached no upstream", async (test) => {
      let tries = 0;
      const refusing = await startHttp2Upstream(test, (stream, headers, flat) => {
        tries++;
        if (tries === 1) stream.close(constants.NGHTTP2_REFUSED_STREAM);
        else void unary(stream, headers, flat);
      });
      const { session } = await startHttp2(test, engine, { upstream: refusing, route, service });
      const headers = { ...grpcHeaders };
      const first = await requestHttp2(session, { headers });
      assert.deepEqual([...shown(first), tries], [200, "0", 2]);
      const pool = { targets: { [`127.0.0.1:${await freePort()}`]: 100, [`127.0.0.1:${refusing}`]: 100 } };
      const balanced = await startHttp2(test, engine, { route, service, pool });
      for (let turn = 0; turn < 4; turn++) {
        assert.deepEqual(shown(await requestHttp2(balanced.session, { headers, body: message("x") })), [200, "0"]);
      }
    });

    it("does not retry when a message may have been sent", async (test) => {
      let tries = 0;
      const { session } = await startGrpc(test, engine, (stream) => {
        tries++;
        stream.once("data", () => stream.close(constants.NGHTTP2_REFUSED_STREAM));
      });
      assert.deepEqual(shown(await requestHttp2(session, { headers: grpcHeaders, body: message("x") })), [200, "14"]);
      assert.equal(tries, 1);
    });

    it("cancels the upstream's call when the client aborts its call", async (test) => {
      const codes: number[] = [];
      const [reached, both] = [signal(), signal()];
      const { session } = await startGrpc(test, engine, (stream) => {
        stream
          .once("data", () => reached.fire())
          .once("close", () => {
            codes.push(stream.rstCode ?? 0);
            if (codes.length === 2) both.fire();
          });
        stream.once("end", () => stream.aborted || codes.push(-1));
      });
      const streams = [session.request(grpcHeaders), session.request(grpcHeaders)];
      for (const stream of streams) stream.on("error", () => {}).write(message("x"));
      await reached.seen;
      // A stream's `close` would end the request first, so neither the proxy nor the upstream would see a cancellation.
      for (const stream of streams) stream.destroy(new Error("away"));
      await both.seen;
      assert.deepEqual(codes, [constants.NGHTTP2_CANCEL, constants.NGHTTP2_CANCEL]);
    });

    it("resets the client's stream when the upstream aborts its response", async (test) => {
      const { session } = await startGrpc(test, engine, (stream) => {
        stream.respond({ ":status": 200, "content-type": "application/grpc" });
        stream.write(message("part"), () => stream.destroy(new Error("broken")));
      });
      const { body, trailers, rstCode } = await requestHttp2(session, { headers: grpcHeaders, body: message("x") });
      assert.deepEqual([body, trailers, rstCode], [message("part"), null, constants.NGHTTP2_INTERNAL_ERROR]);
    });

    it("ends a call only when neither side sends anything for read_timeout", async (test) => {
      const { session } = await startGrpc(
        test,
        engine,
        (stream) => {
          stream.respond({ ":status": 200, "content-type": "application/grpc" });
          stream.resume();
        },
        { service: { read_timeout: 500 } },
      );
      const [silent, talking] = [session.request(grpcHeaders), session.request(grpcHeaders)];
      const over = responseOfStream(silent);
      const timer = setInterval(() => talking.write(message("x")), 30);
      assert.equal((await over).rstCode, constants.NGHTTP2_INTERNAL_ERROR);
      assert.equal(talking.closed, false);
      clearInterval(timer);
      assert.notEqual((await responseOfStream(talking)).rstCode, 0);
    });

    it("stops using a connection that its upstream is closing, without losing a call", async (test) => {
      const sessions = new Set<unknown>();
      const { session } = await startGrpc(test, engine, (stream, headers, flat) => {
        sessions.add(stream.session);
        stream.session?.close();
        return unary(stream, headers, flat);
      });
      for (let turn = 0; turn < 5; turn++) {
        assert.deepEqual(shown(await requestHttp2(session, { headers: grpcHeaders, body: message("x") })), [200, "0"]);
      }
      assert.equal(sessions.size, 5);
    });

    it("after a swap, closes the connections to an upstream that the new runtime does not use, when their calls have ended", async (test) => {
      const [began, goOn, closed] = [signal(), signal(), signal()];
      const { rig, session } = await startGrpc(test, engine, async (stream) => {
        stream.session?.once("close", () => closed.fire());
        began.fire();
        await goOn.seen;
        reply(stream, [await receivedBody(stream)]);
      });
      const call = requestHttp2(session, { headers: grpcHeaders, body: message("x") });
      await began.seen;
      await rig.swap({ upstream: await startHttp2Upstream(test, unary), route, service });
      assert.deepEqual(shown(await requestHttp2(session, { headers: grpcHeaders, body: message("y") })), [200, "0"]);
      goOn.fire();
      assert.deepEqual(shown(await call), [200, "0"]);
      await closed.seen;
    });

    it("accepts calls over TLS too", async (test) => {
      const authority = await makeAuthority();
      const pair = await authority.issue({ name: "a", sans: ["a.example"], usage: "server" });
      const { tlsPort } = await startRig(test, engine, {
        upstream: await startHttp2Upstream(test, unary),
        certificates: { "*": pair },
        route: { ...route, protocols: ["grpcs"] },
        service,
      });
      const session = dialHttp2Tls(test, tlsPort);
      assert.deepEqual(shown(await requestHttp2(session, { headers: grpcHeaders, body: message("x") })), [200, "0"]);
    });
  });
}
