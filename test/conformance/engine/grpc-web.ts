/** Clients of gRPC-Web call gRPC's own server (@grpc/grpc-js) through the proxy and the plugin grpc-web. */
import assert from "node:assert/strict";
import { request } from "node:http";
import { describe, it, type TestContext } from "node:test";
import { Metadata } from "@grpc/grpc-js";
import { freePort } from "../../../tools/process/index.ts";
import { pluginInstance } from "../../plugins/fake-exchange.ts";
import { withConfigDefaults } from "../../plugins/filled-configs.ts";
import { sendRequest, signal } from "./client.ts";
import { echoHandlers, echoService, startGrpcServer } from "./grpc-peers.ts";
import { dialHttp2, message, requestHttp2 } from "./http2-client.ts";
import { type Engine, type RigOptions, startRig } from "./proxy-rig.ts";

async function startWeb(test: TestContext, engine: Engine, options: RigOptions & { readonly config?: object } = {}) {
  const { config, ...others } = options;
  return startRig(test, engine, {
    service: { protocol: "grpc" },
    plugins: { "grpc-web": pluginInstance("grpc-web", withConfigDefaults("grpc-web", config ?? {})) },
    ...others,
    upstream: others.upstream ?? (await startGrpcServer(test, echoHandlers)),
  });
}

interface Reply {
  readonly status: number;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly body: Buffer;
}

/** Sends one call over HTTP/1.1; returns the response. */
function call(port: number, type: string, body: Buffer | string, path = echoService.One.path): Promise<Reply> {
  return new Promise((resolve, reject) => {
    const headers = { "Content-Type": type, "X-Grpc-Web": "1" };
    const sent = request({ port, path, method: "POST", headers }, async (response) => {
      try {
        const pieces = await response.toArray();
        resolve({ status: response.statusCode ?? 0, headers: response.headers, body: Buffer.concat(pieces) });
      } catch (error) {
        reject(error);
      }
    });
    sent.once("error", reject).end(body);
  });
}

/** The messages of a response, and the lines of its last frame. */
function framesOf(body: Buffer): { readonly messages: readonly string[]; readonly trailers: readonly string[] } {
  const messages: string[] = [];
  for (let at = 0; at < body.length; ) {
    const end = at + 5 + body.readUInt32BE(at + 1);
    const content = body.toString("latin1", at + 5, end);
    if (body[at] === 0x80) {
      assert.equal(end, body.length, "the trailers are last");
      return { messages, trailers: content.split("\r\n").slice(0, -1) };
    }
    messages.push(content);
    at = end;
  }
  throw new Error("the body has no frame with trailers");
}

const decoded = (text: Buffer): Buffer =>
  Buffer.concat((text.toString().match(/[^=]+=*/g) ?? []).map((piece) => Buffer.from(piece, "base64")));

const OK_TRAILERS = ["grpc-status:0", "grpc-message:OK", "x-end:here", "proof-bin:AP8="];

export function grpcWebSuite(engine: Engine): void {
  describe(`gRPC-Web (${engine.name})`, () => {
    if (engine.name !== "http1") {
      it("is answered 426, because the engine does not call gRPC services", async (test) => {
        const { port } = await startWeb(test, engine);
        const { status, headers } = await call(port, "application/grpc-web", message("x"));
        assert.deepEqual([status, headers["grpc-message"]], [426, "Please use HTTP2 protocol"]);
      });
      return;
    }

    for (const type of ["application/grpc-web", "application/grpc-web+proto"]) {
      it(`works over HTTP/1.1 with the type ${type}, with the trailers as the last frame`, async (test) => {
        const { port } = await startWeb(test, engine);
        const { status, headers, body } = await call(port, `${type}; charset=utf-8`, message("hello"));
        assert.deepEqual([status, headers["content-type"], headers["access-control-allow-origin"]], [200, type, "*"]);
        assert.deepEqual(framesOf(body), { messages: ["hello"], trailers: OK_TRAILERS });
      });
    }

    for (const type of ["application/grpc-web-text", "application/grpc-web-text+proto"]) {
      it(`works over HTTP/1.1 with the type ${type}, with padded pieces of base64`, async (test) => {
        const { port } = await startWeb(test, engine);
        const asked = message("hello");
        const text = asked.subarray(0, 7).toString("base64") + asked.subarray(7).toString("base64");
        const { status, headers, body } = await call(port, type, text);
        assert.deepEqual([status, headers["content-type"]], [200, type]);
        assert.deepEqual(framesOf(decoded(body)), { messages: ["hello"], trailers: OK_TRAILERS });
      });
    }

    it("works over HTTP/2 too", async (test) => {
      const { port } = await startWeb(test, engine, { settings: { cleartextHttp2: true } });
      const { headers, body } = await requestHttp2(dialHttp2(test, port), {
        headers: { ":method": "POST", ":path": echoService.One.path, "content-type": "application/grpc-web" },
        body: message("hello"),
      });
      assert.deepEqual([headers[":status"], headers["content-type"]], [200, "application/grpc-web"]);
      assert.deepEqual(framesOf(body), { messages: ["hello"], trailers: OK_TRAILERS });
    });

    it("shows the status of a failed call in the last frame", async (test) => {
      const upstream = await startGrpcServer(test, {
        ...echoHandlers,
        One(given, done) {
          given.sendMetadata(new Metadata());
          done({ code: 5, details: "Straße nicht gefunden" }, null);
        },
      });
      const { port } = await startWeb(test, engine, { upstream });
      const { status, headers, body } = await call(port, "application/grpc-web", message("x"));
      const { messages, trailers } = framesOf(body);
      assert.deepEqual([status, headers["grpc-status"], messages.length], [200, undefined, 0]);
      assert.deepEqual(trailers, ["grpc-status:5", "grpc-message:Stra%C3%9Fe%20nicht%20gefunden"]);
    });

    it("shows the status of a response that has only a head, both in the headers and in a frame", async (test) => {
      const { port } = await startWeb(test, engine);
      const { headers, body } = await call(port, "application/grpc-web", message("x"), "/test.Echo/Unknown");
      assert.equal(headers["grpc-status"], "12");
      assert.equal(framesOf(body).trailers[0], "grpc-status:12");
    });

    it("streams the messages of the server as they arrive", async (test) => {
      const [first, goOn] = [signal<string>(), signal()];
      const upstream = await startGrpcServer(test, {
        ...echoHandlers,
        async Many(stream) {
          stream.write(Buffer.from("one"));
          await goOn.seen;
          stream.write(Buffer.from("two"));
          stream.end();
        },
      });
      const { port } = await startWeb(test, engine, { upstream });
      const headers = { "Content-Type": "application/grpc-web" };
      const sent = request({ port, path: echoService.Many.path, method: "POST", headers }, async (response) => {
        const pieces: Buffer[] = [];
        for await (const piece of response) {
          pieces.push(piece);
          if (pieces.length === 1) goOn.fire();
        }
        first.fire(framesOf(Buffer.concat(pieces)).messages.join());
      });
      sent.end(message("x"));
      assert.equal(await first.seen, "one,two");
    });

    it("passes 8 MiB in both directions, and keeps the client's connection", async (test) => {
      const { port } = await startWeb(test, engine);
      const large = Buffer.alloc(8 * 1024 * 1024, "abc");
      const { headers, body } = await call(port, "application/grpc-web", message(large));
      assert.equal(headers.connection, "keep-alive");
      assert.equal(body.readUInt32BE(1), large.length);
      assert.ok(body.subarray(5, 5 + large.length).equals(large));
    });

    it("is answered with the HTTP status 502 when the upstream cannot be reached", async (test) => {
      const { port } = await startWeb(test, engine, {
        upstream: await freePort(),
        service: { protocol: "grpc", retries: 0 },
      });
      const { status, headers } = await call(port, "application/grpc-web", message("x"));
      assert.deepEqual([status, headers["access-control-allow-origin"]], [502, "*"]);
    });

    it("calls the whole path of the request, or, with pass_stripped_path, the path without the route's prefix", async (test) => {
      const route = { paths: ["/prefix"], strip_path: true };
      const path = `/prefix${echoService.One.path}`;
      const whole = await startWeb(test, engine, { route });
      assert.equal((await call(whole.port, "application/grpc-web", message("x"), path)).headers["grpc-status"], "12");
      const stripped = await startWeb(test, engine, { route, config: { pass_stripped_path: true } });
      const { body } = await call(stripped.port, "application/grpc-web", message("x"), path);
      assert.deepEqual(framesOf(body).messages, ["x"]);
    });

    it("is answered 426 over HTTP/1.1 without the plugin grpc-web", async (test) => {
      const { port } = await startWeb(test, engine, { plugins: {} });
      assert.equal(
        (await sendRequest(port, { method: "POST", headers: { "Content-Type": "application/grpc-web" } })).status,
        426,
      );
    });
  });
}
