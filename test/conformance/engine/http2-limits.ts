/** HTTP/2 clients that violate the protocol or are hostile, and the end of connections in a graceful shutdown. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { type ClientHttp2Session, constants } from "node:http2";
import { describe, it, type TestContext } from "node:test";
import { signal } from "./client.ts";
import { startHttp2 } from "./http2.ts";
import { dialHttp2, grpcHeaders, message, requestHttp2, responseOfStream, startHttp2Upstream } from "./http2-client.ts";
import { block, dialFrames, frame, frameBytes, frameFlags, plainRequest } from "./http2-frames.ts";
import { becomes } from "./pool.ts";
import { type Engine, type RigOptions, startRig } from "./proxy-rig.ts";

const ok: RigOptions["upstream"] = (_incoming, response) => response.end("ok");

/** The error code of a frame that ends a stream or a connection. */
const codeOf = ({ type, payload }: { readonly type: number; readonly payload: Buffer }): number =>
  payload.readUInt32BE(type === frame.goAway ? 4 : 0);

async function startFrames(test: TestContext, engine: Engine, options: RigOptions = {}) {
  const { rig } = await startHttp2(test, engine, { upstream: ok, ...options });
  return { rig, client: await dialFrames(test, rig.port) };
}

const get = (stream: number, fields = plainRequest) =>
  frameBytes(frame.headers, frameFlags.endStream | frameFlags.endHeaders, stream, block(fields));

/** Resolves when the session closes, with or without an error. */
const closing = (session: ClientHttp2Session): Promise<void> =>
  new Promise((resolve) => {
    session.once("close", resolve);
  });

const replaced = (name: string, value: string) =>
  plainRequest.map(([key, was]) => [key, key === name ? value : was] as const);
const without = (name: string) => plainRequest.filter(([key]) => key !== name);

export function http2LimitSuite(engine: Engine): void {
  if (engine.name !== "http1") return;
  describe(`rules of HTTP/2: the ${engine.name} engine`, () => {
    const malformed: readonly (readonly [says: string, fields: typeof plainRequest])[] = [
      ["a hop-by-hop header", [...plainRequest, ["connection", "close"]]],
      ["a transfer coding", [...plainRequest, ["transfer-encoding", "chunked"]]],
      ["an upgrade", [...plainRequest, ["upgrade", "websocket"]]],
      ["keep-alive", [...plainRequest, ["keep-alive", "5"]]],
      ["a name in upper case", [...plainRequest, ["X-A", "b"]]],
      ["a name with a space", [...plainRequest, ["a b", "1"]]],
      ["an empty name", [...plainRequest, ["", "1"]]],
      ["a line end in a value", [...plainRequest, ["x-line", "b\r\nX-Evil: 1"]]],
      ["NUL in a value", [...plainRequest, ["x-nul", "b\0c"]]],
      ["a space around a value", [...plainRequest, ["x-space", " b"]]],
      ["TE other than trailers", [...plainRequest, ["te", "gzip"]]],
      ["no method", without(":method")],
      ["no path", without(":path")],
      ["no scheme", without(":scheme")],
      ["no host", without(":authority")],
      ["an empty path", replaced(":path", "")],
      ["a path of another server", replaced(":path", "http://b/")],
      ["a path with a space", replaced(":path", "/a b")],
      ["a path with a line end", replaced(":path", "/ HTTP/1.1\r\nX-Evil: 1")],
      ["the path *", replaced(":path", "*")],
      ["an invalid method", replaced(":method", "GET / HTTP/1.1\r\nX:")],
      [
        "CONNECT",
        [
          [":method", "CONNECT"],
          [":authority", "a:80"],
        ],
      ],
      ["another scheme", replaced(":scheme", "ftp")],
      ["userinfo in the authority", replaced(":authority", "me@a")],
      ["an invalid authority", replaced(":authority", "a/b")],
      ["an invalid port", replaced(":authority", "a:65536")],
      ["a port without a host", replaced(":authority", ":80")],
      ["a host with an invalid escape", replaced(":authority", "a%zz")],
      ["a host that differs from the authority", [...plainRequest, ["host", "b"]]],
      ["two hosts", [...without(":authority"), ["host", "a"], ["host", "a"]]],
      ["a duplicate pseudo-header", [...plainRequest, [":path", "/b"]]],
      ["a pseudo-header after other headers", [["a", "b"], ...plainRequest]],
      ["an unknown pseudo-header", [...plainRequest, [":who", "me"]]],
      ["two lengths", [...plainRequest, ["content-length", "0"], ["content-length", "0"]]],
      ["an invalid length", [...plainRequest, ["content-length", "+1"]]],
      ["a length without a body", [...plainRequest, ["content-length", "5"]]],
    ];
    it("refuses each malformed request separately, and forwards none of them", async (test) => {
      const urls: unknown[] = [];
      const { client } = await startFrames(test, engine, {
        upstream: (incoming, response) => {
          urls.push(incoming.url);
          response.end("ok");
        },
      });
      for (const [index, [says, fields]] of malformed.entries()) {
        const id = index * 2 + 1;
        client.send(get(id, fields));
        const { type, payload } = await client.until(
          ({ stream, type }) => stream === id && (type === frame.headers || type === frame.reset),
        );
        if (type === frame.reset) assert.equal(payload.readUInt32BE(0), constants.NGHTTP2_PROTOCOL_ERROR, says);
        // `:status 400` has an entry in the static table of HPACK.
        else assert.equal(payload[0], 0x8c, says);
      }
      const last = malformed.length * 2 + 1;
      client.send(get(last));
      await client.until(({ stream, type }) => stream === last && type === frame.data);
      assert.deepEqual(urls, ["/"]);
    });

    it("answers 417 to an unknown expectation", async (test) => {
      const { session } = await startHttp2(test, engine, { upstream: ok });
      const status = async (expect: string) => (await requestHttp2(session, { headers: { expect } })).status;
      assert.equal(await status("a-wonder"), 417);
      assert.equal(await status("100-continue, a-wonder"), 417);
      assert.equal(await status("100-Continue"), 200);
    });

    it("resets only the stream of a body that is longer or shorter than declared, and the upstream receives no complete body", async (test) => {
      for (const rest of ["too long", "2"]) {
        let isWhole = false;
        const { client } = await startFrames(test, engine, {
          upstream: (incoming, response) => {
            if (incoming.method === "GET") return response.end("ok");
            return incoming
              .on("error", () => {})
              .resume()
              .on("end", () => {
                isWhole = true;
              });
          },
        });
        const fields = [...replaced(":method", "POST"), ["content-length", "5"] as const];
        client.send(frameBytes(frame.headers, frameFlags.endHeaders, 1, block(fields)));
        client.send(frameBytes(frame.data, 0, 1, Buffer.from("1")));
        client.send(frameBytes(frame.data, frameFlags.endStream, 1, Buffer.from(rest)));
        const refused = await client.until(({ type }) => type === frame.reset || type === frame.goAway);
        assert.deepEqual([refused.type, codeOf(refused)], [frame.reset, constants.NGHTTP2_PROTOCOL_ERROR], rest);
        client.send(get(3));
        await client.until(({ stream, type }) => stream === 3 && type === frame.data);
        assert.equal(isWhole, false, rest);
      }
    });

    it("resets the stream of trailers that are too large, and the upstream receives no complete body", async (test) => {
      let isWhole = false;
      const { client } = await startFrames(test, engine, {
        upstream: (incoming) =>
          void incoming
            .on("error", () => {})
            .resume()
            .on("end", () => {
              isWhole = true;
            }),
        settings: { maxHeaderSize: 8000 },
      });
      const trailers = block([
        ["x-large", "a".repeat(7900)],
        ["x-sum", "a".repeat(100)],
      ]);
      client.send(frameBytes(frame.headers, frameFlags.endHeaders, 1, block(replaced(":method", "POST"))));
      client.send(frameBytes(frame.headers, frameFlags.endStream | frameFlags.endHeaders, 1, trailers));
      const refused = await client.until(({ type }) => type === frame.reset || type === frame.goAway);
      assert.deepEqual([refused.type, codeOf(refused)], [frame.reset, constants.NGHTTP2_ENHANCE_YOUR_CALM]);
      assert.equal(isWhole, false);
    });

    it("answers 431 to a head that is too large and 414 to a target that is too long", async (test) => {
      const { session } = await startHttp2(test, engine, { upstream: ok, settings: { maxHeaderSize: 8000 } });
      const status = async (headers: Record<string, string>) => (await requestHttp2(session, { headers })).status;
      assert.equal(await status({ "x-large": "a".repeat(9000) }), 431);
      assert.equal(
        await status(Object.fromEntries(Array.from({ length: 120 }, (_, index) => [`x-${index}`, "a"]))),
        431,
      );
      assert.equal(await status({ ":path": `/${"a".repeat(8200)}` }), 414);
      assert.equal(await status({ "x-large": "a".repeat(7000) }), 200);
    });
  });

  describe(`hostile clients of HTTP/2: the ${engine.name} engine`, () => {
    it("ends a connection that opens streams only to reset them", async (test) => {
      let reached = 0;
      const { client } = await startFrames(test, engine, { upstream: () => reached++ });
      const cancel = Buffer.from([0, 0, 0, constants.NGHTTP2_CANCEL]);
      for (let id = 1; id < 4000 && !client.socket.destroyed; id += 2) {
        client.send(get(id), frameBytes(frame.reset, 0, id, cancel));
      }
      await client.until(({ type }) => type === frame.goAway);
      client.socket.end();
      await client.closed;
      assert.ok(reached < 700, `${reached} requests reached the upstream`);
    });

    it("closes a connection on which a head does not end", async (test) => {
      const { client } = await startFrames(test, engine);
      client.send(frameBytes(frame.headers, frameFlags.endStream, 1, block(plainRequest)));
      for (let count = 0; count < 200; count++) {
        client.send(frameBytes(frame.continuation, 0, 1, block([[`x-${count}`, "a".repeat(4000)]])));
      }
      await client.closed;
      assert.ok(!client.frames.some(({ type }) => type === frame.headers));
    });

    it("ends a connection that only sends pings or settings and reads nothing", async (test) => {
      for (const sent of [frameBytes(frame.ping, 0, 0, Buffer.alloc(8)), frameBytes(frame.settings, 0, 0)]) {
        const { client } = await startFrames(test, engine);
        client.socket.pause();
        const flood = Buffer.concat(Array.from({ length: 10_000 }, () => sent));
        const pump = () => {
          if (client.socket.destroyed) return;
          if (client.socket.write(flood)) setImmediate(pump);
          else client.socket.once("drain", pump);
        };
        pump();
        await client.closed;
      }
    });

    it("refuses more concurrent streams than announced", async (test) => {
      const { client } = await startFrames(test, engine, { upstream: () => {} });
      await client.until(({ type, flags }) => type === frame.settings && flags === 1);
      client.send(frameBytes(frame.settings, 1, 0));
      for (let id = 1; id <= 2 * 129; id += 2) client.send(get(id));
      const { stream, ...refused } = await client.until(({ type }) => type === frame.reset || type === frame.goAway);
      assert.deepEqual([stream, codeOf(refused)], [257, constants.NGHTTP2_REFUSED_STREAM]);
    });

    it("answers 408 when a body does not arrive, and aborts the upstream request", async (test) => {
      const gone = signal();
      const { session } = await startHttp2(test, engine, {
        upstream: (incoming) => void incoming.on("error", () => {}).socket.once("close", () => gone.fire()),
        settings: { bodyTimeout: 100 },
      });
      const stream = session.request({ ":path": "/", ":method": "POST" });
      const answer = responseOfStream(stream);
      stream.write("hello");
      // The two events may come in any order.
      await Promise.all([gone.seen, once(stream, "end")]);
      stream.end();
      assert.equal((await answer).status, 408);
      assert.equal(session.destroyed, false);
    });

    it("resets the stream of a client that does not read its response", async (test) => {
      const gone = signal();
      const { session } = await startHttp2(test, engine, {
        upstream: (_incoming, response) => {
          response.on("close", () => gone.fire()).end(Buffer.alloc(32 * 1024 * 1024));
        },
        settings: { sendTimeout: 100 },
      });
      const stream = session.request({ ":path": "/" });
      stream.on("error", () => {});
      await gone.seen;
      assert.equal((await responseOfStream(stream)).rstCode, constants.NGHTTP2_INTERNAL_ERROR);
    });

    it("closes idle connections, and connections that never send a request", async (test) => {
      const idle = await startHttp2(test, engine, { upstream: ok, settings: { keepAliveTimeout: 100 } });
      await requestHttp2(idle.session);
      await once(idle.session, "goaway");
      await closing(idle.session);
      const { client } = await startFrames(test, engine, { settings: { headersTimeout: 100 } });
      await client.closed;
      const silent = await startHttp2(test, engine, { settings: { headersTimeout: 100 } });
      await closing(silent.session);
    });

    it("limits the number of requests on a connection, and loses no request", async (test) => {
      const { rig, session } = await startHttp2(test, engine, { upstream: ok, settings: { maxRequests: 3 } });
      const ended = once(session, "goaway");
      for (let turn = 0; turn < 3; turn++) assert.equal((await requestHttp2(session)).status, 200);
      const [code] = await ended;
      assert.equal(code, constants.NGHTTP2_NO_ERROR);
      assert.equal((await requestHttp2(dialHttp2(test, rig.port))).status, 200);
    });

    it("counts HTTP/2 connections toward maxConnections", async (test) => {
      const { rig, session } = await startHttp2(test, engine, { upstream: ok, settings: { maxConnections: 2 } });
      await requestHttp2(session);
      await requestHttp2(dialHttp2(test, rig.port));
      const third = dialHttp2(test, rig.port);
      await closing(third);
      const { accepted, handled, active, requests } = rig.proxy.connections();
      assert.deepEqual({ accepted, handled, active, requests }, { accepted: 3, handled: 2, active: 2, requests: 2 });
      session.destroy();
      await becomes(() => rig.proxy.connections().active === 1);
    });
  });

  describe(`a graceful shutdown with HTTP/2: the ${engine.name} engine`, () => {
    it("completes requests and calls in flight, and closes idle connections", async (test) => {
      const [held, called] = [signal<() => void>(), signal<() => void>()];
      const upstream = await startHttp2Upstream(test, (stream) => {
        called.fire(() => {
          stream.respond({ ":status": 200, "content-type": "application/grpc" }, { waitForTrailers: true });
          stream.once("wantTrailers", () => stream.sendTrailers({ "grpc-status": "0" }));
          stream.end(message("done"));
        });
      });
      const plain = await startHttp2(test, engine, {
        upstream: (_incoming, response) => held.fire(() => response.end("done")),
      });
      const grpc = await startHttp2(test, engine, {
        upstream,
        route: { protocols: ["grpc"] },
        service: { protocol: "grpc" },
      });
      const idle = dialHttp2(test, plain.rig.port);
      await once(idle, "remoteSettings");
      const unknown = dialHttp2(test, grpc.rig.port);
      await once(unknown, "remoteSettings");
      const asked = requestHttp2(plain.session);
      const call = requestHttp2(grpc.session, { headers: grpcHeaders, body: message("x") });
      const [answer, reply] = await Promise.all([held.seen, called.seen]);
      const ends = [idle, unknown].map((session) => closing(session));
      const drained = [plain, grpc].map(({ rig }) => rig.proxy.close({ deadline: 10_000 }));
      await Promise.all(ends);
      answer();
      reply();
      assert.equal((await asked).body.toString(), "done");
      const { body, trailers } = await call;
      assert.deepEqual([body, trailers?.["grpc-status"]], [message("done"), "0"]);
      await Promise.all(drained);
    });

    it("aborts unfinished streams at the deadline, and connections whose clients keep their side open", async (test) => {
      const asked = signal();
      const { rig, session } = await startHttp2(test, engine, { upstream: () => asked.fire() });
      const stream = session.request({ ":path": "/" });
      stream.on("error", () => {});
      const client = await dialFrames(test, rig.port);
      await client.until(({ type }) => type === frame.settings);
      await asked.seen;
      const cut = closing(session);
      await rig.proxy.close({ deadline: 50 });
      await Promise.all([cut, client.closed]);
    });

    it("serves requests that were sent before the client knew of the shutdown, and names the last one", async (test) => {
      const { rig, client } = await startFrames(test, engine);
      await client.until(({ type }) => type === frame.settings);
      const drained = rig.proxy.close({ deadline: 10_000 });
      const first = await client.until(({ type }) => type === frame.goAway);
      assert.deepEqual([first.payload.readUInt32BE(0), codeOf(first)], [0x7fffffff, constants.NGHTTP2_NO_ERROR]);
      const { payload } = await client.until(({ type, flags }) => type === frame.ping && flags === 0);
      const late = frameBytes(frame.headers, frameFlags.endHeaders, 3, block(replaced(":method", "POST")));
      client.send(get(1), frameBytes(frame.ping, 1, 0, payload));
      client.send(late, frameBytes(frame.data, 0, 3, Buffer.from("x")), frameBytes(frame.reset, 0, 3, Buffer.alloc(4)));
      await client.until(({ stream, type }) => stream === 1 && type === frame.data);
      const last = await client.until((each) => each.type === frame.goAway && each !== first);
      assert.deepEqual([last.payload.readUInt32BE(0), codeOf(last)], [1, constants.NGHTTP2_NO_ERROR]);
      client.socket.end();
      await Promise.all([client.closed, drained]);
      assert.ok(!client.frames.some(({ stream }) => stream === 3), "a later request is not processed");
      assert.equal(client.frames.filter(({ type }) => type === frame.goAway).length, 2, "nor is it an error");
    });

    it("ends connections that have not yet chosen a protocol", async (test) => {
      const { port, proxy } = await startRig(test, engine, { settings: { cleartextHttp2: true } });
      const client = dialHttp2(test, port);
      const closed = closing(client);
      await becomes(() => proxy.connections().active === 1);
      await proxy.close({ deadline: 5000 });
      await closed;
    });
  });
}
