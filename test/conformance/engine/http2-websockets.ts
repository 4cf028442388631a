/** WebSocket over HTTP/2 (RFC 8441): the upstream sees an upgrade of HTTP/1.1, and so do plugins. */
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage, type Server } from "node:http";
import { type ClientHttp2Session, type ClientHttp2Stream, constants, type OutgoingHttpHeaders } from "node:http2";
import type { Socket } from "node:net";
import { describe, it, type TestContext } from "node:test";
import type { Exchange } from "@sluice/plugin-sdk";
import { signal } from "./client.ts";
import { startHttp2 } from "./http2.ts";
import { requestHttp2, responseOfStream } from "./http2-client.ts";
import { block, dialFrames, frame, frameBytes, frameFlags } from "./http2-frames.ts";
import { type Engine, listen, portOf, type RigOptions } from "./proxy-rig.ts";

const acceptOf = (key: string | undefined): string =>
  createHash("sha1").update(`${key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`).digest("base64");

/** The head with which an upstream agrees to the upgrade; `more` are further lines. */
export const switchTo = (request: IncomingMessage, more = ""): string =>
  "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n" +
  `Sec-WebSocket-Accept: ${acceptOf(request.headers["sec-websocket-key"])}\r\n${more}\r\n`;

/** An upstream whose handler gets each upgrade request and its socket. */
export async function startUpgrades(test: TestContext, onUpgrade: (request: IncomingMessage, socket: Socket) => void) {
  const server: Server = createServer({ highWaterMark: 1024 }, (_request, response) => response.end("no upgrade here"));
  server.on("upgrade", (request: IncomingMessage, _socket, head: Buffer) => {
    const { socket } = request;
    socket.on("error", () => {});
    if (head.length > 0) socket.unshift(head);
    onUpgrade(request, socket);
  });
  return portOf(await listen(test, server));
}

/** An upstream that agrees to each upgrade, sends `hello ` and echoes all bytes. */
export async function startEcho(test: TestContext) {
  const seen: { request: IncomingMessage; socket: Socket }[] = [];
  const port = await startUpgrades(test, (request, socket) => {
    seen.push({ request, socket });
    socket.write(`${switchTo(request, "Sec-WebSocket-Protocol: chat\r\nX-Up: 1\r\n")}hello `);
    socket.pipe(socket);
  });
  return { port, seen };
}

const asked: OutgoingHttpHeaders = {
  ":method": "CONNECT",
  ":protocol": "websocket",
  ":scheme": "http",
  ":authority": "a",
  ":path": "/chat?room=1",
  "sec-websocket-version": "13",
};

export function requestWebSocket(session: ClientHttp2Session, more: OutgoingHttpHeaders = {}): ClientHttp2Stream {
  const stream = session.request({ ...asked, ...more }, { endStream: false });
  stream.on("error", () => {});
  return stream;
}

export async function startTunnel(test: TestContext, engine: Engine, options: RigOptions) {
  const { rig, session } = await startHttp2(test, engine, options);
  if (session.remoteSettings?.enableConnectProtocol !== true) await once(session, "remoteSettings");
  assert.equal(session.remoteSettings.enableConnectProtocol, true);
  return { rig, session };
}

/** Resolves when the stream has received this text. */
async function receive(stream: ClientHttp2Stream, text: string): Promise<string> {
  let received = "";
  for await (const [chunk] of onData(stream)) {
    received += chunk;
    if (received.includes(text)) break;
  }
  return received;
}

async function* onData(stream: ClientHttp2Stream) {
  for (;;) yield (await once(stream, "data")) as [Buffer];
}

export function http2WebSocketSuite(engine: Engine): void {
  if (engine.name !== "http1") return;
  describe(`WebSocket over HTTP/2: the ${engine.name} engine`, () => {
    it("opens with an upgrade of the upstream's connection, and carries bytes both ways", async (test) => {
      const logged = signal<readonly unknown[]>();
      const upstream = await startEcho(test);
      const { session } = await startTunnel(test, engine, {
        upstream: upstream.port,
        route: { paths: ["/chat"], methods: ["GET"] },
        plugins: {
          "http-log": {
            log: async (exchange: Exchange) =>
              logged.fire([exchange.request.method, exchange.request.header("upgrade"), exchange.status]),
          },
        },
      });
      const stream = requestWebSocket(session, {
        "sec-websocket-key": "from the client",
        "sec-websocket-protocol": "chat",
        "sec-websocket-extensions": "permessage-deflate",
        cookie: "a=b",
      });
      stream.write("early ");
      const [head] = await once(stream, "response");
      assert.equal(head[":status"], 200);
      assert.equal(head["sec-websocket-protocol"], "chat");
      assert.equal(head["x-up"], "1");
      assert.match(String(head["x-sluice-request-id"]), /^[0-9a-f]{32}$/);
      for (const name of ["sec-websocket-accept", "upgrade", "connection"]) assert.equal(head[name], undefined, name);
      await receive(stream, "hello early ");
      stream.write("later");
      await receive(stream, "later");
      const [{ request } = assert.fail("no upgrade")] = upstream.seen;
      const { headers } = request;
      assert.deepEqual([request.method, request.url, request.httpVersion], ["GET", "/?room=1", "1.1"]);
      assert.deepEqual(
        [headers.host, headers.connection, headers.upgrade, headers.cookie, headers["x-forwarded-path"]],
        [`127.0.0.1:${upstream.port}`, "Upgrade", "websocket", "a=b", "/chat"],
      );
      assert.deepEqual(
        ["version", "protocol", "extensions"].map((name) => headers[`sec-websocket-${name}`]),
        ["13", "chat", "permessage-deflate"],
      );
      assert.equal(Buffer.from(headers["sec-websocket-key"] ?? "", "base64").length, 16);
      stream.end();
      await once(stream, "close");
      assert.equal(stream.rstCode, 0);
      assert.deepEqual(await logged.seen, ["GET", "websocket", 101]);
    });

    it("passes 4 MiB both ways unchanged beside other requests of the connection", async (test) => {
      const upstream = await startEcho(test);
      const { session } = await startTunnel(test, engine, { upstream: upstream.port });
      const stream = requestWebSocket(session);
      const content = Buffer.from(Array.from({ length: 4 * 1_048_576 }, (_, index) => index % 251));
      const received = responseOfStream(stream);
      stream.end(content);
      assert.equal((await requestHttp2(session)).body.toString(), "no upgrade here");
      const { body, rstCode } = await received;
      assert.equal(rstCode, 0);
      assert.ok(body.equals(Buffer.concat([Buffer.from("hello "), content])));
    });

    const ends: readonly (readonly [
      says: string,
      end: (client: ClientHttp2Stream, upstream: Socket) => void,
      rstCode: number,
    ])[] = [
      ["the client resets its stream", (client) => client.close(constants.NGHTTP2_CANCEL), constants.NGHTTP2_CANCEL],
      ["the client's connection is lost", (client) => client.session?.destroy(), 0],
      [
        "the upstream closes its connection",
        (client, upstream) => {
          client.once("end", () => client.end());
          upstream.destroy();
        },
        0,
      ],
      [
        "the upstream resets its connection",
        (_client, upstream) => upstream.resetAndDestroy(),
        constants.NGHTTP2_CANCEL,
      ],
    ];
    for (const [says, end, rstCode] of ends) {
      it(`closes both sides when ${says}`, async (test) => {
        const upstream = await startEcho(test);
        const { rig, session } = await startTunnel(test, engine, {
          pool: { upstream: { algorithm: "least-connections" }, targets: { [`127.0.0.1:${upstream.port}`]: 100 } },
        });
        const stream = requestWebSocket(session);
        await receive(stream, "hello ");
        const [{ socket } = assert.fail("no upgrade")] = upstream.seen;
        const inFlight = () => rig.balancer().entries[0]?.member.inFlight;
        assert.equal(inFlight(), 1);
        const closed = Promise.all([once(stream.resume(), "close"), socket.closed || once(socket, "close")]);
        end(stream, socket);
        await closed;
        assert.equal(stream.rstCode, rstCode);
        while (inFlight() !== 0) await new Promise(setImmediate);
      });
    }

    it("passes on the end of each side while the other side continues", async (test) => {
      for (const first of ["client", "upstream"]) {
        const joined = signal<Socket>();
        const upstream = await startUpgrades(test, (request, socket) => {
          socket.allowHalfOpen = true;
          socket.write(switchTo(request));
          joined.fire(socket);
        });
        const { session } = await startTunnel(test, engine, { upstream });
        const stream = requestWebSocket(session);
        await once(stream, "response");
        const socket = await joined.seen;
        const [from, to] = first === "client" ? [stream, socket] : [socket, stream];
        const ended = once(to.resume(), "end");
        from.end("last");
        await ended;
        const answered = once(from, "data");
        to.write("still here");
        assert.equal(String(await answered), "still here");
        const closed = once(stream, "close");
        from.resume();
        to.end();
        await closed;
        assert.equal(stream.rstCode, 0, first);
      }
    });

    it("keeps a tunnel open while the listener drains", async (test) => {
      const upstream = await startEcho(test);
      const { rig, session } = await startTunnel(test, engine, { upstream: upstream.port });
      const stream = requestWebSocket(session);
      await receive(stream, "hello ");
      void rig.proxy.close({ deadline: 10_000 });
      await once(session, "goaway");
      stream.write("draining");
      await receive(stream, "draining");
      stream.end();
      await once(stream, "close");
      assert.equal(stream.rstCode, 0);
    });

    const refusals: readonly (readonly [says: string, head: (request: IncomingMessage) => string, status: number])[] = [
      ["without Sec-WebSocket-Accept", (request) => switchTo(request).replace("Sec-WebSocket-Accept", "X-Other"), 502],
      [
        "with another Sec-WebSocket-Accept",
        (request) => switchTo(request).replace(/Accept: ..../, "Accept: AAAA"),
        502,
      ],
      ["with another protocol", (request) => switchTo(request).replace("Upgrade: websocket", "Upgrade: h2c"), 502],
      ["with an ordinary response", () => "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", 502],
      ["with an error", () => "HTTP/1.1 403 Forbidden\r\nX-Why: closed\r\nContent-Length: 9\r\n\r\nnot today", 403],
    ];
    for (const [says, head, status] of refusals) {
      it(`answers ${status} when the upstream answers ${says}`, async (test) => {
        const gone = signal();
        const upstream = await startUpgrades(test, (request, socket) => {
          socket.once("end", () => gone.fire()).resume();
          socket.write(head(request));
        });
        const { session } = await startTunnel(test, engine, { upstream });
        const response = await responseOfStream(requestWebSocket(session));
        assert.equal(response.status, status);
        assert.equal(response.rstCode, 0);
        if (status === 502) await gone.seen;
        else assert.deepEqual([response.headers["x-why"], response.body.toString()], ["closed", "not today"]);
      });
    }

    it("does not reach the upstream when a plugin answers", async (test) => {
      const upstream = await startEcho(test);
      const { session } = await startTunnel(test, engine, {
        upstream: upstream.port,
        plugins: { "key-auth": { access: async () => ({ status: 401, message: "No API key found in request" }) } },
      });
      const response = await responseOfStream(requestWebSocket(session));
      assert.equal(response.status, 401);
      assert.match(response.body.toString(), /No API key/);
      assert.deepEqual(upstream.seen, []);
    });

    const successes: readonly (readonly [from: string, plugins: RigOptions["plugins"], status: number])[] = [
      ["an upstream", {}, 502],
      ["a plugin", { "request-termination": { access: () => ({ status: 200, message: "closed" }) } }, 500],
    ];
    for (const [from, plugins, status] of successes) {
      it(`answers ${status} when ${from} answers 200, and logs the reason once`, async (test) => {
        const upstream = await startUpgrades(test, (_request, socket) => {
          socket.resume().write("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello");
        });
        const { rig, session } = await startTunnel(test, engine, { upstream, ...(plugins && { plugins }) });
        for (const _ of [1, 2, 3]) assert.equal((await responseOfStream(requestWebSocket(session))).status, status);
        const [line, ...others] = rig.log;
        assert.match(JSON.stringify(line?.details), /the status 200|answered 200, not the 101/);
        assert.deepEqual(others, []);
      });
    }

    it("answers 501 to other protocols, and 400 to an extended CONNECT with a body's length or without data", async (test) => {
      const { session } = await startTunnel(test, engine, {});
      for (const [more, endStream, status] of [
        [{ ":protocol": "connect-udp" }, false, 501],
        [{ "content-length": "5" }, false, 400],
        [{}, true, 400],
      ] as const) {
        const response = await responseOfStream(session.request({ ...asked, ...more }, { endStream }));
        assert.equal(response.status, status);
      }
    });

    const faults: readonly (readonly [says: string, fields: readonly (readonly [string, string])[]])[] = [
      [
        "another method",
        [
          [":method", "GET"],
          [":protocol", "websocket"],
          [":scheme", "http"],
          [":path", "/"],
        ],
      ],
      [
        "no path",
        [
          [":method", "CONNECT"],
          [":protocol", "websocket"],
          [":scheme", "http"],
        ],
      ],
      [
        "two protocols",
        [
          [":method", "CONNECT"],
          [":protocol", "websocket"],
          [":protocol", "websocket"],
        ],
      ],
      ["Upgrade", [...connectFields, ["upgrade", "websocket"]]],
    ];
    for (const [says, fields] of faults) {
      it(`resets the stream of a request for a WebSocket with ${says}`, async (test) => {
        const { rig } = await startHttp2(test, engine);
        const client = await dialFrames(test, rig.port);
        client.send(frameBytes(frame.headers, frameFlags.endHeaders, 1, block([...fields, [":authority", "a"]])));
        const { payload } = await client.until(({ type, stream }) => type === frame.reset && stream === 1);
        assert.equal(payload.readUInt32BE(0), constants.NGHTTP2_PROTOCOL_ERROR);
      });
    }

    it("resets a tunnel that sends trailers", async (test) => {
      const upstream = await startEcho(test);
      const { rig } = await startHttp2(test, engine, { upstream: upstream.port });
      const client = await dialFrames(test, rig.port);
      client.send(frameBytes(frame.headers, frameFlags.endHeaders, 1, block([...connectFields, [":authority", "a"]])));
      await client.until(({ type, stream }) => type === frame.data && stream === 1);
      const flags = frameFlags.endHeaders | frameFlags.endStream;
      client.send(frameBytes(frame.headers, flags, 1, block([["a", "b"]])));
      const { payload } = await client.until(({ type, stream }) => type === frame.reset && stream === 1);
      assert.equal(payload.readUInt32BE(0), constants.NGHTTP2_PROTOCOL_ERROR);
    });
  });
}

/** The fields of a request for a WebSocket, without the authority. */
export const connectFields: readonly (readonly [string, string])[] = [
  [":method", "CONNECT"],
  [":protocol", "websocket"],
  [":scheme", "http"],
  [":path", "/"],
];
