/** HTTP/2 with clients: over TLS by ALPN, without TLS by prior knowledge; HTTP/1.1 upstreams. */
import assert from "node:assert/strict";
import { createHash, randomBytes } from "node:crypto";
import { once } from "node:events";
import type { IncomingHttpHeaders, OutgoingHttpHeaders } from "node:http2";
import { request } from "node:https";
import { describe, it, type TestContext } from "node:test";
import type { Exchange } from "@sluice/plugin-sdk";
import { freePort } from "../../../tools/process/index.ts";
import { makeAuthority } from "../../../tools/programs/certificates.ts";
import { dial, receiveUntil, sendRequest, signal } from "./client.ts";
import { dialHttp2, dialHttp2Tls, requestHttp2, responseOfStream, startHttp2Upstream } from "./http2-client.ts";
import { type Engine, portOf, type RigOptions, startRig, startUpstream } from "./proxy-rig.ts";

const echo: RigOptions["upstream"] = (incoming, response) => {
  const texts: string[] = [];
  incoming.setEncoding("latin1").on("data", (text: string) => texts.push(text));
  incoming.on("end", () => {
    const { method, url, rawHeaders, headers, trailers } = incoming;
    response.end(JSON.stringify({ method, url, rawHeaders, headers, trailers, body: texts.join("") }));
  });
};

/** A rig that accepts HTTP/2 without TLS, and a connection to it. */
export async function startHttp2(test: TestContext, engine: Engine, options: RigOptions = {}) {
  const rig = await startRig(test, engine, { ...options, settings: { cleartextHttp2: true, ...options.settings } });
  return { rig, session: dialHttp2(test, rig.port) };
}

/** Engines without HTTP/2 skip this suite. */
export function http2Suite(engine: Engine): void {
  if (engine.name !== "http1") return;
  describe(`HTTP/2: the ${engine.name} engine`, () => {
    it("serves HTTP/2 over TLS to clients that choose it, and HTTP/1.1 to others", async (test) => {
      const authority = await makeAuthority();
      const pair = await authority.issue({ name: "a.example", sans: ["a.example"], usage: "server" });
      const { tlsPort } = await startRig(test, engine, {
        upstream: echo,
        route: { protocols: ["https"], snis: ["a.example"], paths: null },
        certificates: { "*": pair },
      });
      const session = dialHttp2Tls(test, tlsPort, { ca: authority.certificate, rejectUnauthorized: true });
      const { status, body } = await requestHttp2(session, { headers: { ":authority": "a.example" } });
      assert.deepEqual([session.alpnProtocol, status], ["h2", 200]);
      const { headers } = JSON.parse(body.toString());
      assert.equal(headers["x-forwarded-proto"], "https");
      assert.equal(headers["x-forwarded-port"], `${tlsPort}`);
      const old = request({
        host: "127.0.0.1",
        port: tlsPort,
        servername: "a.example",
        ca: authority.certificate,
        agent: false,
      });
      const [response] = await once(old.end(), "response");
      assert.equal(response.httpVersion, "1.1");
      response.resume();
    });

    it("serves HTTP/2 without TLS on the port of HTTP/1.1 only if a setting enables it", async (test) => {
      const { rig, session } = await startHttp2(test, engine, {
        upstream: (_incoming, response) => response.end("ok"),
      });
      assert.equal((await requestHttp2(session)).body.toString(), "ok");
      assert.equal((await sendRequest(rig.port, { method: "POST", body: "x" })).body, "ok");
      const socket = await dial(test, rig.port);
      for (const byte of "PROPFIND / HTTP/1.1\r\nHost: a\r\n\r\n") socket.write(byte);
      await receiveUntil(socket, "ok");
      const { port } = await startRig(test, engine);
      const refused = await dial(test, port);
      refused.write("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
      assert.match(await receiveUntil(refused, "\r\n\r\n"), /^HTTP\/1\.1 (?:400|505) /);
    });

    it("translates requests to HTTP/1.1: the authority as Host, one Cookie header, no pseudo-headers", async (test) => {
      const { rig, session } = await startHttp2(test, engine, { upstream: echo, route: { preserve_host: true } });
      const { body, headers } = await requestHttp2(session, {
        headers: {
          ":path": "/a/b?c=d",
          ":authority": "Api.example:81",
          cookie: ["a=1", "b=2"],
          "x-list": ["one", "two"],
          te: "trailers",
          "x-consumer-id": "forged",
          transfer_encoding: "chunked",
        },
      });
      const got = JSON.parse(body.toString());
      assert.deepEqual([got.method, got.url], ["GET", "/a/b?c=d"]);
      const { connection, te, via, ...rest } = got.headers;
      assert.equal(rest.host, "api.example:81");
      assert.equal(rest.cookie, "a=1; b=2");
      assert.equal(rest["x-list"], "one, two");
      assert.equal(rest["x-consumer-id"], undefined);
      assert.equal(rest.transfer_encoding, undefined);
      assert.deepEqual([connection, te, via], ["keep-alive, TE", "trailers", "2 sluice/1.2.3"]);
      assert.ok(!got.rawHeaders.some((name: string) => name.startsWith(":")));
      assert.equal(rest["x-forwarded-port"], `${rig.port}`);
      assert.equal(headers.connection, undefined);
      assert.ok(headers["x-sluice-request-id"]);
    });

    it("sends the service's host to the upstream in place of the client's authority", async (test) => {
      const { session } = await startHttp2(test, engine, { upstream: echo, service: { host: "localhost" } });
      const { body } = await requestHttp2(session, { headers: { ":authority": "client.example" } });
      assert.match(JSON.parse(body.toString()).headers.host, /^localhost:\d+$/);
    });

    const bodies: readonly (readonly [says: string, body: string | undefined, OutgoingHttpHeaders, object])[] = [
      ["GET and no body", undefined, { ":method": "GET" }, {}],
      ["POST and no body", undefined, { ":method": "POST" }, { "content-length": "0" }],
      [
        "POST and a body with a length",
        "hello",
        { ":method": "POST", "content-length": "5" },
        { "content-length": "5" },
      ],
      ["QUERY and a body without a length", "hello", { ":method": "QUERY" }, { "transfer-encoding": "chunked" }],
      ["PUT and an empty body", "", { ":method": "PUT" }, { "transfer-encoding": "chunked" }],
    ];
    for (const [says, body, headers, framing] of bodies) {
      it(`forwards a request with ${says}`, async (test) => {
        const { session } = await startHttp2(test, engine, { upstream: echo });
        const got = JSON.parse(
          (await requestHttp2(session, { headers, ...(body !== undefined && { body }) })).body.toString(),
        );
        assert.equal(got.body, body ?? "");
        const { "content-length": length, "transfer-encoding": coding } = got.headers as IncomingHttpHeaders;
        assert.deepEqual(
          { ...(length && { "content-length": length }), ...(coding && { "transfer-encoding": coding }) },
          framing,
        );
      });
    }

    for (const size of [64 * 1024, 8 * 1024 * 1024]) {
      it(`passes ${size} bytes both ways unchanged`, async (test) => {
        const content = randomBytes(size);
        const { session } = await startHttp2(test, engine, {
          upstream: (incoming, response) => incoming.pipe(response),
        });
        const { body, rstCode } = await requestHttp2(session, { headers: { ":method": "POST" }, body: content });
        assert.equal(rstCode, 0);
        assert.equal(hashOf(body), hashOf(content));
      });
    }

    it("serves many requests at a time", async (test) => {
      const { session } = await startHttp2(test, engine, { upstream: echo });
      const all = await Promise.all(
        Array.from({ length: 100 }, (_, index) => requestHttp2(session, { headers: { ":path": `/${index}` } })),
      );
      assert.deepEqual(
        all.map(({ body }) => JSON.parse(body.toString()).url),
        all.map((_, index) => `/${index}`),
      );
    });

    it("reads an upstream no faster than the client reads, and does not delay the other streams", async (test) => {
      let written = 0;
      const { session } = await startHttp2(test, engine, {
        upstream: async (incoming, response) => {
          if (incoming.url !== "/large") return response.end("small");
          const piece = Buffer.alloc(65_536);
          for (let count = 0; count < 1024 && !response.destroyed; count++) {
            written += piece.length;
            if (!response.write(piece)) await once(response, "drain").catch(() => {});
          }
          return response.end();
        },
      });
      const slow = session.request({ ":path": "/large" });
      await once(slow, "response");
      for (let turn = 0; turn < 20; turn++) assert.equal((await requestHttp2(session)).body.toString(), "small");
      assert.ok(written < 32 * 1024 * 1024, `${written} bytes were read`);
      let length = 0;
      slow.on("data", (chunk: Buffer) => {
        length += chunk.length;
      });
      await once(slow, "end");
      assert.equal(length, 64 * 1024 * 1024);
    });

    it("reads a client no faster than the upstream reads", async (test) => {
      const goOn = signal();
      const { session } = await startHttp2(test, engine, {
        upstream: async (incoming, response) => {
          if (incoming.url !== "/slow") return response.end("other");
          incoming.pause();
          await goOn.seen;
          return incoming.resume().on("end", () => response.end("all"));
        },
      });
      const upload = session.request({ ":path": "/slow", ":method": "POST" });
      const answer = responseOfStream(upload);
      upload.end(Buffer.alloc(32 * 1024 * 1024));
      for (let turn = 0; turn < 20; turn++) assert.equal((await requestHttp2(session)).body.toString(), "other");
      assert.ok(!upload.writableFinished, "the proxy read everything");
      goOn.fire();
      assert.equal((await answer).body.toString(), "all");
    });

    it("passes trailers both ways, without fields that must not be in trailers", async (test) => {
      const { session } = await startHttp2(test, engine, {
        upstream: (incoming, response) => {
          incoming.resume().on("end", () => {
            response.writeHead(200, { Trailer: "X-End" });
            response.write(JSON.stringify(incoming.trailers));
            response.addTrailers({ "X-End": "yes", "X-Real-IP": "1.1.1.1" });
            response.end();
          });
        },
      });
      const { body, trailers } = await requestHttp2(session, {
        headers: { ":method": "POST", te: "trailers", trailer: "x-sum" },
        body: "hello",
        trailers: { "x-sum": "7", host: "evil", authorization: "late" },
      });
      assert.deepEqual(JSON.parse(body.toString()), { "x-sum": "7" });
      assert.deepEqual(Object.entries(trailers ?? {}), [["x-end", "yes"]]);
    });

    it("forwards interim responses, and answers an expectation itself", async (test) => {
      const { session } = await startHttp2(test, engine, {
        upstream: (incoming, response) => {
          response.writeEarlyHints({ link: "</a.css>; rel=preload" });
          incoming.resume().on("end", () => response.end(incoming.headers.expect ?? "none"));
        },
      });
      const stream = session.request({ ":path": "/", ":method": "POST", expect: "100-continue" });
      const answer = responseOfStream(stream);
      await once(stream, "continue");
      stream.end("body");
      const { body, interims } = await answer;
      assert.equal(body.toString(), "none");
      assert.deepEqual(
        interims.filter((each) => Number(each[":status"]) === 103).map(({ link }) => link),
        ["</a.css>; rel=preload"],
      );
    });

    for (const [method, status] of [
      ["HEAD", 200],
      ["GET", 204],
      ["GET", 304],
    ] as const) {
      it(`sends only a head in response to ${method} with status ${status}`, async (test) => {
        const { session } = await startHttp2(test, engine, {
          upstream: (_incoming, response) => response.writeHead(status, { "X-A": "b" }).end(),
        });
        const answer = await requestHttp2(session, { headers: { ":method": method } });
        assert.deepEqual([answer.status, answer.headers["x-a"], answer.headOnly], [status, "b", true]);
      });
    }

    it("answers requests without a route, and sends responses of plugins, as over HTTP/1.1", async (test) => {
      const { rig, session } = await startHttp2(test, engine, { route: { paths: ["/only"] } });
      const none = await requestHttp2(session, { headers: { ":method": "POST" }, body: "unread" });
      assert.equal(none.status, 404);
      assert.match(none.body.toString(), /no Route matched/);
      await rig.swap({
        plugins: {
          cors: { access: async () => ({ status: 429, message: "enough", headers: { Connection: "close" } }) },
        },
      });
      const limited = await requestHttp2(session);
      assert.deepEqual([limited.status, limited.headers.connection], [429, undefined]);
    });

    it("shows plugins the body, the byte counts and the times of each request", async (test) => {
      const logged = signal<Exchange>();
      const { session } = await startHttp2(test, engine, {
        upstream: echo,
        plugins: {
          cors: {
            async access(exchange) {
              const body = await exchange.request.body(1000);
              exchange.replaceBody(Buffer.from(`${body} and more`));
              return undefined;
            },
          },
          prometheus: { log: logged.fire },
        },
      });
      const { body } = await requestHttp2(session, { headers: { ":method": "POST" }, body: "some" });
      const got = JSON.parse(body.toString());
      assert.deepEqual([got.body, got.headers["content-length"]], ["some and more", "13"]);
      const { bytesIn, bytesOut, status, timings } = await logged.seen;
      assert.equal(status, 200);
      assert.ok(bytesIn > 30 && bytesOut > body.length && (timings.ended ?? 0) >= timings.started);
    });

    it("notifies the upstream and plugins when a client resets its stream", async (test) => {
      const [reached, gone, logged] = [signal(), signal(), signal<Exchange>()];
      const { session } = await startHttp2(test, engine, {
        upstream: (incoming) => {
          incoming.socket.once("close", () => gone.fire());
          reached.fire();
        },
        plugins: { prometheus: { log: logged.fire } },
      });
      const stream = session.request({ ":path": "/" });
      stream.on("error", () => {});
      await reached.seen;
      stream.close(8);
      await gone.seen;
      assert.equal((await logged.seen).status, 499);
      assert.equal(session.destroyed, false);
    });

    it("does not treat an aborted body as complete", async (test) => {
      const [reached, gone] = [signal(), signal<boolean>()];
      const { session } = await startHttp2(test, engine, {
        upstream: (incoming) => {
          incoming.once("data", () => reached.fire()).on("error", () => {});
          incoming.once("close", () => gone.fire(incoming.complete));
        },
      });
      const stream = session.request({ ":path": "/", ":method": "POST" });
      stream.on("error", () => {}).write("half of it");
      await reached.seen;
      stream.destroy();
      assert.equal(await gone.seen, false);
    });

    it("resets the stream when the upstream aborts its response", async (test) => {
      const { session } = await startHttp2(test, engine, {
        upstream: (_incoming, response) => {
          response.writeHead(200, { "Content-Length": "100" });
          response.write("part", () => response.destroy());
        },
      });
      const { status, rstCode } = await requestHttp2(session);
      assert.deepEqual([status, rstCode], [200, 2]);
      assert.equal((await requestHttp2(session)).status, 200, "the connection continues");
    });

    it("tries the next endpoint as often as `retries` allows, and repeats a GET, but not a POST, when a reused connection breaks", async (test) => {
      const served = new WeakSet<object>();
      const { session } = await startHttp2(test, engine, {
        upstream: (incoming, response) => {
          if (served.has(incoming.socket)) incoming.socket.destroy();
          else incoming.pipe(response);
          served.add(incoming.socket);
        },
      });
      assert.equal((await requestHttp2(session)).status, 200);
      assert.equal((await requestHttp2(session, { headers: { ":method": "GET" } })).status, 200);
      assert.equal((await requestHttp2(session, { headers: { ":method": "POST" } })).status, 502);
      const live = portOf(await startUpstream(test, (incoming, response) => incoming.pipe(response)));
      const endpoints = [await freePort(), live].map((port) => ({ address: "127.0.0.1", port }));
      const balanced = await startHttp2(test, engine, { endpoints, service: { retries: 1 } });
      for (let turn = 0; turn < 4; turn++) {
        const { status, body } = await requestHttp2(balanced.session, {
          headers: { ":method": "POST" },
          body: "whole",
        });
        assert.deepEqual([status, body.toString()], [200, "whole"]);
      }
    });

    it("answers 502 if the upstream responds with a status above 599, which is invalid", async (test) => {
      const { session } = await startHttp2(test, engine, {
        upstream: (_incoming, response) => response.writeHead(999).end("blocked"),
      });
      assert.equal((await requestHttp2(session)).status, 502);
    });

    it("sends all requests over HTTP/2 to a service that speaks it, whatever the client speaks", async (test) => {
      const upstream = await startHttp2Upstream(test, (stream, { ":method": method, ":path": path, upgrade }) => {
        const pieces: Buffer[] = [];
        stream.on("data", (piece: Buffer) => pieces.push(piece));
        stream.once("end", () => {
          stream.respond({ ":status": 201, "x-seen": `${method} ${path} ${upgrade} "${Buffer.concat(pieces)}"` });
          stream.end("answer");
        });
      });
      const { rig, session } = await startHttp2(test, engine, { upstream, service: { _sluice: { http2: true } } });
      const body = "answer";
      for (const [sent, seen, received] of [
        [{ path: "/a?b" }, 'GET /a?b undefined ""', body],
        [{ method: "POST", headers: { "Content-Length": "4" }, body: "text" }, 'POST / undefined "text"', body],
        [{ method: "PUT", headers: { "Transfer-Encoding": "chunked" }, body: "text" }, 'PUT / undefined "text"', body],
        [{ method: "HEAD" }, 'HEAD / undefined ""', ""],
        // The upstream cannot switch protocols, so the request is an ordinary one (RFC 9110 section 7.8).
        [{ headers: { Connection: "Upgrade", Upgrade: "websocket" } }, 'GET / undefined ""', body],
      ] as const) {
        const response = await sendRequest(rig.port, sent);
        assert.deepEqual([response.status, response.headers["x-seen"], response.body], [201, seen, received]);
      }
      const response = await requestHttp2(session, { headers: { ":method": "POST", ":path": "/a" }, body: "text" });
      assert.deepEqual(
        [response.status, response.headers["x-seen"], response.body.toString()],
        [201, 'POST /a undefined "text"', body],
      );
    });
  });
}

const hashOf = (content: Buffer): string => createHash("sha256").update(content).digest("hex");
