/** Messages that two parsers may interpret differently: an engine rejects them in both directions. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type Socket } from "node:net";
import { describe, it, type TestContext } from "node:test";
import { dial, receiveUntil, sendRaw, sendRequest, signal } from "./client.ts";
import { type Engine, listen, portOf, startRig } from "./proxy-rig.ts";

/**
 * An upstream that responds to each request with the same bytes. `sockets` has only the connections on which it
 * responded, because undici opens another connection after an abort and keeps it idle for a minute.
 */
async function startSaying(test: TestContext, answer: string): Promise<{ port: number; sockets: Set<Socket> }> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    socket
      .on("error", () => {})
      .on("data", () => {
        sockets.add(socket);
        socket.write(answer, "latin1");
      });
  });
  return { port: portOf(await listen(test, server)), sockets };
}

interface Case {
  readonly says: string;
  readonly bytes: string;
  readonly status: number;
}

const head = (lines: string, body = "") => `POST / HTTP/1.1\r\nHost: a\r\n${lines}\r\n${body}`;

const requests: readonly Case[] = [
  { says: "a signed length", bytes: head("Content-Length: +1\r\n", "x"), status: 400 },
  { says: "an empty length", bytes: head("Content-Length:\r\n"), status: 400 },
  { says: "a padded length", bytes: head("Content-Length: 01\r\n", "x"), status: 400 },
  { says: "a length that is repeated", bytes: head("Content-Length: 1\r\nContent-Length: 1\r\n", "x"), status: 400 },
  { says: "a length in a list", bytes: head("Content-Length: 1, 1\r\n", "x"), status: 400 },
  { says: "whitespace before a colon", bytes: head("X : 1\r\n"), status: 400 },
  { says: "a folded line", bytes: head("X: 1\r\n 2\r\n"), status: 400 },
  { says: "a bare line feed", bytes: "GET / HTTP/1.1\nHost: a\r\n\r\n", status: 400 },
  { says: "a bare carriage return", bytes: head("X: a\rb\r\n"), status: 400 },
  { says: "a NUL", bytes: head("X: a\0b\r\n"), status: 400 },
  {
    says: "the coding chunked twice",
    bytes: head("Transfer-Encoding: chunked, chunked\r\n", "0\r\n\r\n"),
    status: 400,
  },
  { says: "an unknown expectation", bytes: head("Expect: a-wonder\r\n"), status: 417 },
  { says: "an invalid port", bytes: "GET / HTTP/1.1\r\nHost: a:65536\r\n\r\n", status: 400 },
  { says: "a port but no host", bytes: "GET / HTTP/1.1\r\nHost: :80\r\n\r\n", status: 400 },
  { says: "an invalid escape in its host", bytes: "GET / HTTP/1.1\r\nHost: a%zz\r\n\r\n", status: 400 },
  { says: "an unclosed IPv6 address", bytes: "GET / HTTP/1.1\r\nHost: [::1\r\n\r\n", status: 400 },
  {
    says: "different hosts in its target and its Host header",
    bytes: "GET http://b/ HTTP/1.1\r\nHost: a\r\n\r\n",
    status: 400,
  },
  { says: "userinfo in its target", bytes: "GET http://u@a/ HTTP/1.1\r\nHost: a\r\n\r\n", status: 400 },
  { says: "a fragment in its target", bytes: "GET /#a HTTP/1.1\r\nHost: a\r\n\r\n", status: 400 },
  {
    says: "a target that is too long",
    bytes: `GET /${"a".repeat(9000)} HTTP/1.1\r\nHost: a\r\n\r\n`,
    status: 414,
  },
];

const responses: readonly Case[] = [
  {
    says: "a length and chunks",
    bytes: "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n",
    status: 502,
  },
  { says: "a control character in its reason", bytes: "HTTP/1.1 200 O\x01K\r\nContent-Length: 0\r\n\r\n", status: 502 },
  {
    says: "an unknown coding",
    bytes: "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
    status: 502,
  },
  { says: "two lengths", bytes: "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n", status: 502 },
  { says: "whitespace before a colon", bytes: "HTTP/1.1 200 OK\r\nX : 1\r\n\r\n", status: 502 },
  { says: "a status of two digits", bytes: "HTTP/1.1 20 OK\r\nContent-Length: 0\r\n\r\n", status: 502 },
  { says: "a bare line feed", bytes: "HTTP/1.1 200 OK\nContent-Length: 0\r\n\r\n", status: 502 },
  {
    says: "a switch of protocols that was not requested",
    bytes: "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n",
    status: 502,
  },
];

const UPGRADE =
  "GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n" +
  "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n";

export function strictnessSuite(engine: Engine): void {
  describe(`ambiguous messages: the ${engine.name} engine`, () => {
    for (const { says, bytes, status } of requests) {
      it(`refuses a request with ${says}, closes the connection, and forwards nothing`, async (test) => {
        let forwarded = 0;
        const upstream = await listen(
          test,
          createServer(() => forwarded++),
        );
        const { port } = await startRig(test, engine, { upstream: portOf(upstream) });
        const all = await sendRaw(test, port, `${bytes}GET /next HTTP/1.1\r\nHost: a\r\n\r\n`);
        assert.match(all, new RegExp(`^HTTP/1\\.1 ${status} `));
        assert.equal(all.match(/HTTP\/1\.1/g)?.length, 1, "later bytes are not read");
        assert.equal(forwarded, 0);
      });
    }

    for (const { says, bytes, status } of responses) {
      it(`answers ${status} for a response with ${says}, and closes the upstream's connection`, async (test) => {
        const { port: upstream, sockets } = await startSaying(test, bytes);
        const { port } = await startRig(test, engine, { upstream, service: { retries: 0 } });
        assert.equal((await sendRequest(port)).status, status);
        for (const socket of sockets) if (!socket.closed) await once(socket.resume(), "close");
      });

      it(`answers an upgrade request ${status} if the response to it has ${says}`, async (test) => {
        const { port: upstream } = await startSaying(test, bytes);
        const { port } = await startRig(test, engine, { upstream, service: { retries: 0 } });
        assert.match(await sendRaw(test, port, UPGRADE), new RegExp(`^HTTP/1\\.1 ${status} `));
      });
    }

    it("keeps the framing and the Date of a response even if the upstream's Connection header names them", async (test) => {
      const bytes =
        "HTTP/1.1 200 OK\r\nConnection: Content-Length, Transfer-Encoding, Date\r\nContent-Length: 2\r\n\r\nok";
      const { port: upstream } = await startSaying(test, bytes);
      const { port } = await startRig(test, engine, { upstream });
      const client = await dial(test, port);
      client.write("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
      const all = await receiveUntil(client, "ok");
      assert.match(all, /\r\n(?:Content-Length: 2|Transfer-Encoding: chunked)\r\n/i);
      assert.match(all, /\r\nDate: /i);
      const { body, complete } = await sendRequest(port);
      assert.deepEqual([body, complete], ["ok", true]);
    });

    it("answers HEAD with a head only even if it refuses an expectation", async (test) => {
      const { port } = await startRig(test, engine, { upstream: (_request, response) => response.end("forwarded") });
      const all = await sendRaw(
        test,
        port,
        "HEAD / HTTP/1.1\r\nHost: a\r\nExpect: a-wonder\r\nConnection: close\r\n\r\n",
      );
      assert.match(all, /^HTTP\/1\.1 \d{3} .*\r\n\r\n$/s);
    });

    it("answers pipelined requests one after the other, in order", async (test) => {
      const { port } = await startRig(test, engine, {
        upstream: (request, response) => response.end(`<${request.url}>`),
      });
      const get = (path: string, more = "") => `GET ${path} HTTP/1.1\r\nHost: a\r\n${more}\r\n`;
      const post = "POST /2 HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n";
      const all = await sendRaw(test, port, get("/1") + post + get("/3", "Connection: close\r\n"));
      assert.deepEqual(all.match(/<[^>]*>/g), ["</1>", "</2>", "</3>"]);
    });

    it("does not treat data that an upstream sends before a request as the response to that request", async (test) => {
      const said = signal();
      const server = createServer((socket) => {
        socket.on("error", () => {});
        socket.once("data", () => {
          socket.write("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nright");
          socket.write("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nwrong", () => said.fire());
        });
      });
      const upstream = portOf(await listen(test, server));
      const { port } = await startRig(test, engine, { upstream });
      assert.equal((await sendRequest(port)).body, "right");
      await said.seen;
      assert.equal((await sendRequest(port)).body, "right");
    });

    it("does not reuse a connection on which a response arrived before the request had ended", async (test) => {
      const sockets = new Set<Socket>();
      const server = createServer((socket) => {
        sockets.add(socket);
        socket.on("error", () => {});
        socket.once("data", () => socket.write("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nearly"));
      });
      const { port } = await startRig(test, engine, { upstream: portOf(await listen(test, server)) });
      const client = await dial(test, port);
      client.write("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nhello");
      await receiveUntil(client, "early");
      client.write("world");
      assert.equal((await sendRequest(port)).body, "early");
      assert.equal(sockets.size, 2);
    });

    it("answers 400 when a chunk of the request is malformed, and closes both connections", async (test) => {
      const [came, gone] = [signal(), signal()];
      const { port } = await startRig(test, engine, {
        upstream: (incoming) => {
          incoming.on("error", () => {}).resume();
          incoming.socket.once("close", () => gone.fire());
          came.fire();
        },
      });
      const socket = await dial(test, port);
      const answer = receiveUntil(socket, "\r\n\r\n");
      socket.write(head("Transfer-Encoding: chunked\r\n", "3\r\nabc\r\n"));
      await came.seen;
      const closed = once(socket, "close");
      socket.write("zz\r\n");
      assert.match(await answer, /^HTTP\/1\.1 400 /);
      await Promise.all([gone.seen, closed]);
    });

    it("drops headers that must not be in a request's trailers", async (test) => {
      const { port } = await startRig(test, engine, {
        upstream: (incoming, response) =>
          incoming.resume().on("end", () => response.end(JSON.stringify(incoming.trailers))),
      });
      const trailers = "X-Sum: 1\r\nX-Real-IP: 9.9.9.9\r\nX-Consumer-ID: evil\r\nX.Consumer~ID: evil\r\n";
      const all = await sendRaw(
        test,
        port,
        head("Transfer-Encoding: chunked\r\nConnection: close\r\n", `1\r\na\r\n0\r\n${trailers}\r\n`),
      );
      assert.match(all, engine.name === "http1" ? /\{"x-sum":"1"\}/ : /\{\}/);
    });

    it("drops an unrequested 100, and forwards other interim responses", async (test) => {
      const interim = "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n";
      const { port: upstream } = await startSaying(test, `${interim}HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok`);
      const { port } = await startRig(test, engine, { upstream });
      const client = await dial(test, port);
      client.write("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
      if (engine.name === "http1") {
        const all = await receiveUntil(client, "ok");
        assert.match(all, /^HTTP\/1\.1 103 Early Hints\r\nLink: <\/a>\r\n\r\nHTTP\/1\.1 200 OK\r\n/);
      } else {
        // undici refuses a response that begins with a 100 that it did not ask for.
        assert.match(await receiveUntil(client, "request_id"), /^HTTP\/1\.1 502 Bad Gateway\r\n/);
      }
    });

    it("sends no chunks to an HTTP/1.0 client, and ends a body without a length by closing the connection", async (test) => {
      const { port } = await startRig(test, engine, {
        upstream: (_request, response) => {
          response.write("one ");
          response.end("two");
        },
      });
      const all = await sendRaw(test, port, "GET / HTTP/1.0\r\nHost: a\r\n\r\n");
      assert.match(all, /\r\n\r\none two$/);
      assert.ok(!/transfer-encoding/i.test(all), all);
    });

    it("forwards the end of a response that ended with its connection", async (test) => {
      const server = createServer((socket) => {
        socket.on("error", () => {}).once("data", () => socket.end("HTTP/1.1 200 OK\r\n\r\nall of it"));
      });
      const { port } = await startRig(test, engine, { upstream: portOf(await listen(test, server)) });
      const { body, complete, headers } = await sendRequest(port);
      assert.deepEqual([body, complete, headers["transfer-encoding"]], ["all of it", true, "chunked"]);
    });
  });
}
