/** Bodies stream in both directions without being buffered, unless a plugin reads them. */
import assert from "node:assert/strict";
import { createHash, randomBytes } from "node:crypto";
import { once } from "node:events";
import { type IncomingMessage, request, type ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { describe, it } from "node:test";
import { dial, received, receiveUntil, sendRequest, signal } from "./client.ts";
import { type Engine, type RigOptions, startRig } from "./proxy-rig.ts";

const echo: RigOptions["upstream"] = (incoming, response) => {
  const chunks: Buffer[] = [];
  incoming.on("data", (chunk: Buffer) => chunks.push(chunk));
  incoming.on("end", () => {
    const { "content-length": length, "transfer-encoding": coding } = incoming.headers;
    response.end(JSON.stringify({ body: Buffer.concat(chunks).toString(), length, coding }));
  });
};

/** Opens a request; the test writes its body. */
const open = (port: number, headers: Record<string, string> = {}) =>
  request({ host: "127.0.0.1", port, method: "POST", path: "/", agent: false, headers });

export function bodySuite(engine: Engine): void {
  describe(`bodies: the ${engine.name} engine`, () => {
    for (const method of ["POST", "PUT", "PATCH", "DELETE", "GET", "QUERY", "PURGE"]) {
      it(`forwards the body of ${method}, with a length and in chunks`, async (test) => {
        const { port } = await startRig(test, engine, { upstream: echo });
        const sized = await sendRequest(port, { method, headers: { "Content-Length": "5" }, body: "hello" });
        assert.deepEqual(JSON.parse(sized.body), { body: "hello", length: "5" });
        const chunked = await sendRequest(port, { method, headers: { "Transfer-Encoding": "chunked" }, body: "hello" });
        assert.deepEqual(JSON.parse(chunked.body), { body: "hello", coding: "chunked" });
      });
    }

    for (const type of ["application/json", "no type at all", "multipart/form-data"]) {
      it(`does not inspect a body whose content type is "${type}"`, async (test) => {
        const { port } = await startRig(test, engine, { upstream: echo });
        const { body } = await sendRequest(port, {
          method: "POST",
          headers: { "Content-Type": type },
          body: "{broken",
        });
        assert.equal(JSON.parse(body).body, "{broken");
      });
    }

    it("forwards an empty body as an empty body", async (test) => {
      const { port } = await startRig(test, engine, { upstream: echo });
      const { body } = await sendRequest(port, { method: "POST", headers: { "Content-Length": "0" } });
      assert.deepEqual(JSON.parse(body), { body: "", length: "0" });
    });

    it("forwards data to the upstream before the client has sent the whole body", async (test) => {
      const first = signal<string>();
      const { port } = await startRig(test, engine, {
        upstream: (incoming, response) => {
          incoming.once("data", (chunk: Buffer) => first.fire(chunk.toString()));
          incoming.resume().on("end", () => response.end("done"));
        },
      });
      const upload = open(port);
      upload.write("first");
      assert.equal(await first.seen, "first");
      upload.end("second");
      const [response] = (await once(upload, "response")) as [IncomingMessage];
      assert.equal((await received(response)).body, "done");
    });

    it("forwards data to the client before the upstream has sent the whole body", async (test) => {
      const rest = signal();
      const { port } = await startRig(test, engine, {
        upstream: async (_request, response) => {
          response.writeHead(200, { "Content-Type": "text/event-stream" }).write("data: 1\n\n");
          await rest.seen;
          response.end("data: 2\n\n");
        },
      });
      const socket = await dial(test, port);
      socket.write("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
      await receiveUntil(socket, "data: 1");
      const second = receiveUntil(socket, "data: 2");
      rest.fire();
      await second;
    });

    it("passes 8 MiB unchanged in both directions", async (test) => {
      const content = randomBytes(8 * 1024 * 1024);
      const { port } = await startRig(test, engine, { upstream: (incoming, response) => incoming.pipe(response) });
      const upload = open(port, { "Content-Length": String(content.length) });
      upload.end(content);
      const [response] = (await once(upload, "response")) as [IncomingMessage];
      const hash = createHash("sha256");
      for await (const chunk of response) hash.update(chunk as Buffer);
      assert.equal(hash.digest("hex"), createHash("sha256").update(content).digest("hex"));
    });

    const bodiless: readonly (readonly [method: string, status: number, length: string | undefined])[] = [
      ["HEAD", 200, "5"],
      ["GET", 204, undefined],
      ["GET", 304, undefined],
    ];
    for (const [method, status, length] of bodiless) {
      it(`forwards a response to ${method} with status ${status} and no body, and keeps the connection`, async (test) => {
        const { port } = await startRig(test, engine, {
          upstream: (_request, response) => {
            response.writeHead(status, length === undefined ? {} : { "Content-Length": length }).end();
          },
        });
        const socket = await dial(test, port);
        for (let turn = 0; turn < 2; turn++) {
          socket.write(`${method} / HTTP/1.1\r\nHost: a\r\n\r\n`);
          const head = await receiveUntil(socket, "\r\n\r\n");
          assert.ok(head.startsWith(`HTTP/1.1 ${status} `), head);
          assert.ok(!/transfer-encoding/i.test(head), head);
          assert.equal(/content-length: (\d+)/i.exec(head)?.[1], length);
        }
      });
    }

    for (const status of [204, 304]) {
      it(`expects no body after an upstream's ${status} with a Content-Length`, async (test) => {
        const { port } = await startRig(test, engine, {
          upstream: (request) => {
            request.socket.write(`HTTP/1.1 ${status} X\r\nContent-Length: 5\r\nETag: "a"\r\n\r\n`);
          },
        });
        const { status: got, headers, complete } = await sendRequest(port);
        const length = status === 304 ? "5" : undefined;
        assert.deepEqual(
          { got, complete, etag: headers.etag, length: headers["content-length"] },
          { got: status, complete: true, etag: '"a"', length },
        );
      });
    }

    it("forwards trailers only to a client that accepts them", async (test) => {
      const { port } = await startRig(test, engine, {
        upstream: (_request, response) => {
          response.writeHead(200, { Trailer: "X-Sum" }).write("ok");
          response.addTrailers({ "X-Sum": "42" });
          response.end();
        },
      });
      const { trailers, headers } = await sendRequest(port, { headers: { TE: "trailers" } });
      assert.equal(headers.trailer, "X-Sum");
      assert.equal(trailers["x-sum"], "42");
      assert.deepEqual((await sendRequest(port)).trailers, {}, "trailers require a client that accepts them");
    });

    it("answers Expect: 100-continue and forwards the body", async (test) => {
      const { port } = await startRig(test, engine, { upstream: echo });
      const socket = await dial(test, port);
      socket.write("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n");
      await receiveUntil(socket, "100 Continue");
      socket.write("ok");
      assert.match(await receiveUntil(socket, "}"), /"body":"ok"/);
    });

    it("delivers a response that arrives before the client has sent the whole body, and keeps the connection", async (test) => {
      const { port } = await startRig(test, engine, {
        upstream: (_request, response) => {
          response.writeHead(413, { Connection: "close" }).end("too much");
        },
      });
      const socket = await dial(test, port);
      socket.write("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nhello");
      assert.match(await receiveUntil(socket, "too much"), /^HTTP\/1\.1 413 /);
      socket.write("worldGET / HTTP/1.1\r\nHost: a\r\n\r\n");
      assert.match(await receiveUntil(socket, "too much"), /^HTTP\/1\.1 413 /);
    });

    it("lets a plugin read the body, and forwards it unchanged or replaced", async (test) => {
      const read: (string | undefined)[] = [];
      const { port } = await startRig(test, engine, {
        upstream: echo,
        plugins: {
          "key-auth": {
            async access(exchange) {
              const body = await exchange.request.body(10);
              read.push(body?.toString());
              if (body?.toString() === "old") exchange.replaceBody(Buffer.from("newer"));
              return undefined;
            },
          },
        },
      });
      const forwarded = async (body: string, headers = {}) =>
        JSON.parse((await sendRequest(port, { method: "POST", body, headers })).body);
      assert.deepEqual(await forwarded("hello"), { body: "hello", length: "5" });
      assert.deepEqual(await forwarded("old"), { body: "newer", length: "5" });
      const long = "x".repeat(100_000);
      assert.equal((await forwarded(long)).body, long);
      assert.equal((await forwarded(long, { "Transfer-Encoding": "chunked" })).body, long);
      assert.deepEqual(read, ["hello", "old", undefined, undefined]);
    });

    const partings: readonly (readonly [when: string, begin: (response: ServerResponse) => void])[] = [
      ["before the upstream has answered", () => {}],
      ["in the middle of the response", (response) => response.write("half")],
    ];
    const ways: readonly (readonly [what: string, part: (socket: Socket) => void, binds?: Engine["name"]])[] = [
      ["disconnects", (socket) => socket.destroy()],
      // Node's own server keeps responding to a half-closed client.
      ["closes its side of the connection", (socket) => socket.end(), "http1"],
    ];
    for (const [when, begin] of partings)
      for (const [what, part, binds = engine.name] of ways) {
        if (binds !== engine.name) continue;
        it(`closes the upstream's connection when the client ${what} ${when}`, async (test) => {
          const asked = signal();
          const gone = signal();
          const { port } = await startRig(test, engine, {
            upstream: (incoming, response) => {
              begin(response);
              incoming.socket.once("close", () => gone.fire());
              asked.fire();
            },
          });
          const socket = await dial(test, port);
          socket.write("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
          await asked.seen;
          part(socket);
          await gone.seen;
        });
      }

    it("closes the upstream's connection when the client disconnects in the middle of the request's body", async (test) => {
      const begun = signal();
      const gone = signal();
      const { port } = await startRig(test, engine, {
        upstream: (incoming) => {
          incoming.once("data", () => begun.fire());
          incoming.once("error", () => gone.fire());
        },
      });
      const socket = await dial(test, port);
      socket.write("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\nhello");
      await begun.seen;
      socket.destroy();
      await gone.seen;
    });

    it("aborts the response to the client when the upstream aborts its response", async (test) => {
      const { port, log } = await startRig(test, engine, {
        upstream: (_request, response) => {
          response.writeHead(200, { "Content-Length": "100" });
          response.write("half", () => response.destroy());
        },
      });
      const { status, body, complete } = await sendRequest(port);
      assert.deepEqual({ status, body, complete }, { status: 200, body: "half", complete: false });
      assert.match(log[0]?.message ?? "", /aborted its response/);
    });
  });
}
