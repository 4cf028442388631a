/** How bodies that plugins filter reach the client: heads, framing, streaming, and connections. */
import assert from "node:assert/strict";
import { once } from "node:events";
import type { RequestListener } from "node:http";
import { createServer } from "node:net";
import { describe, it, type TestContext } from "node:test";
import type { BodyFilter, Exchange, PluginPhases } from "@sluice/plugin-sdk";
import { pluginInstance } from "../../plugins/fake-exchange.ts";
import { withConfigDefaults } from "../../plugins/filled-configs.ts";
import { dial, receiveUntil, sendRaw, sendRequest, signal, writingUntilBlocked } from "./client.ts";
import {
  appending,
  buffering,
  dropping,
  enclosing,
  failing,
  filtering,
  halving,
  sized,
  upperCase,
} from "./filtered-bodies.ts";
import { startHttp2 } from "./http2.ts";
import { grpcHeaders, message, responseOfStream, startHttp2Upstream } from "./http2-client.ts";
import { type Engine, listen, portOf, startRig } from "./proxy-rig.ts";

/** Starts an upstream whose response ends with its connection; returns the port. */
async function untilClose(test: TestContext): Promise<number> {
  const server = createServer((socket) => {
    socket.on("error", () => {}).once("data", () => socket.end("HTTP/1.1 200 OK\r\n\r\nhello"));
  });
  return portOf(await listen(test, server));
}

export function filteredResponseSuite(engine: Engine): void {
  describe(`responses whose bodies plugins filter (${engine.name})`, () => {
    it("show their headers to filters, and a filter of the whole body may change the head", async (test) => {
      const shown: (readonly string[])[] = [];
      const plugin: PluginPhases = {
        responseHeaders(exchange) {
          exchange.responseHeaders.set("X-Set", "2");
          shown.push(exchange.responseHeaderValues("x-up"));
        },
        responseBody: (exchange: Exchange) => ({
          limit: 100,
          longer: "refused",
          whole(body) {
            for (const name of ["x-up", "x-set", "x-none"] as const) shown.push(exchange.responseHeaderValues(name));
            exchange.responseHeaders.set("X-Length", String(body.length));
            exchange.responseHeaders.remove("X-Up");
            return body;
          },
        }),
      };
      const { port } = await startRig(test, engine, { upstream: sized, plugins: { cors: plugin } });
      const { headers, body } = await sendRequest(port);
      assert.deepEqual([headers["x-length"], headers["x-up"], headers["x-set"], body], ["5", undefined, "2", "hello"]);
      assert.deepEqual(shown, [["1"], ["1"], ["2"], []]);
    });

    it("are replaced by the response of a plugin, for which the phase responseHeaders runs again", async (test) => {
      const sources: string[] = [];
      const plugin: PluginPhases = {
        responseHeaders(exchange) {
          sources.push(exchange.source);
          exchange.responseHeaders.set(exchange.source === "service" ? "X-First" : "X-Second", "1");
        },
        responseBody: ({ source }) => (source === "service" ? { status: 429, body: "" } : null),
      };
      const { port } = await startRig(test, engine, { upstream: sized, plugins: { cors: plugin } });
      for (let count = 1; count <= 2; count++) {
        const { status, headers, body } = await sendRequest(port);
        assert.deepEqual([status, headers["content-length"], body], [429, "0", ""]);
        assert.deepEqual([headers["x-first"], headers["x-second"], headers["x-up"]], [undefined, "1", undefined]);
      }
      assert.deepEqual(sources, ["service", "gateway", "service", "gateway"]);
    });

    it("are changed by response-transformer in headers and bodies, even if they are the gateway's own", async (test) => {
      const transformer = pluginInstance(
        "response-transformer",
        withConfigDefaults("response-transformer", {
          remove: { headers: ["X-Secret"], json: ["secret", "request_id"] },
          rename: { headers: ["X-Old:X-New"] },
          add: { headers: ["X-Added:1"], json: ["n:1"], json_types: ["number"] },
        }),
      );
      const upstream: RequestListener = (_request, response) => {
        const body = '{"secret":"s","a":1.0}';
        response.setHeaders(new Map([["X-Secret", "s"]])).setHeader("X-Old", ["1", "2"]);
        response.setHeader("Content-Type", "application/json").setHeader("Content-Length", body.length).end(body);
      };
      let refuses = false;
      const { port } = await startRig(test, engine, {
        upstream,
        plugins: {
          "response-transformer": transformer,
          "key-auth": { access: () => (refuses ? { status: 401, message: "No" } : undefined) },
        },
      });
      const { headers, body } = await sendRequest(port);
      assert.deepEqual([headers["x-secret"], headers["x-new"], headers["x-added"]], [undefined, "1, 2", "1"]);
      assert.deepEqual([body, headers["content-length"]], ['{"a":1.0,"n":1}', "15"]);
      refuses = true;
      const own = await sendRequest(port);
      assert.deepEqual([own.status, own.body, own.headers["content-length"]], [401, '{"message":"No","n":1}', "22"]);
    });

    it("reach the client piece by piece while the upstream sends them", async (test) => {
      const rest = signal();
      const { port } = await startRig(test, engine, {
        upstream: async (_request, response) => {
          response.write("first");
          await rest.seen;
          response.end("second");
        },
        plugins: { cors: filtering(upperCase) },
      });
      const socket = await dial(test, port);
      socket.write("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
      await receiveUntil(socket, "FIRST");
      const second = receiveUntil(socket, "SECOND");
      rest.fire();
      await second;
    });

    for (const [what, filter, share] of [
      ["filter", upperCase, 1],
      ["stream", enclosing("", ""), 1],
      ["stream that shortens them", halving, 0.4],
    ] as const) {
      it(`are not read completely from the upstream while the client does not read, behind a ${what}`, async (test) => {
        const total = 64 * 1024 * 1024;
        const blocked = signal<number>();
        const { port } = await startRig(test, engine, {
          upstream: writingUntilBlocked(total, blocked),
          plugins: { cors: filtering(filter) },
        });
        const socket = await dial(test, port);
        socket.write("GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
        assert.ok((await blocked.seen) < total / 2);
        let received = 0;
        socket.on("data", (bytes) => {
          received += bytes.length;
        });
        await once(socket, "close");
        assert.ok(received > total * share, String(received));
      });
    }

    it("end with the connection for an HTTP/1.0 client, and have no length", async (test) => {
      const { port } = await startRig(test, engine, { upstream: sized, plugins: { cors: filtering(appending) } });
      const text = await sendRaw(test, port, "GET / HTTP/1.0\r\nHost: a\r\n\r\n");
      assert.match(text, /\r\n\r\nhello!$/);
      assert.doesNotMatch(text, /content-length|transfer-encoding/i);
    });

    it("may end with the upstream's connection", async (test) => {
      const { port } = await startRig(test, engine, {
        upstream: await untilClose(test),
        plugins: { cors: filtering(buffering(5)) },
      });
      const { body, headers } = await sendRequest(port);
      assert.deepEqual([body, headers["content-length"]], ["<hello>", "7"]);
    });

    it("keep their trailers", async (test) => {
      const upstream: RequestListener = (_request, response) => {
        response.writeHead(200, { Trailer: "X-Sum" }).write("hello");
        response.addTrailers({ "X-Sum": "1" });
        response.end();
      };
      for (const [filter, expected] of [
        [upperCase, "HELLO"],
        [buffering(5), "<hello>"],
        [enclosing("<", ">"), "<hello>"],
      ] as const) {
        const { port } = await startRig(test, engine, { upstream, plugins: { cors: filtering(filter) } });
        const { body, trailers } = await sendRequest(port, { headers: { TE: "trailers", Connection: "TE" } });
        assert.deepEqual([body, trailers["x-sum"]], [expected, "1"]);
      }
    });

    it("leave the upstream's connection usable, even after a plugin failed", async (test) => {
      const sockets = new Set<unknown>();
      const filters: BodyFilter[] = [buffering(9), { ...buffering(9), whole: failing.piece }, upperCase, buffering(9)];
      const { port } = await startRig(test, engine, {
        upstream(request, response) {
          sockets.add(request.socket);
          sized(request, response);
        },
        plugins: { cors: { responseBody: () => filters.shift() ?? null } },
      });
      const statuses: number[] = [];
      while (filters.length > 0) statuses.push((await sendRequest(port)).status);
      assert.deepEqual(statuses, [200, 500, 200, 200]);
      assert.equal(sockets.size, 1);
    });

    it("do not include data of an upgraded connection", async (test) => {
      const upstream = await listen(
        test,
        createServer((socket) => {
          socket
            .on("error", () => {})
            .once("data", () => {
              socket.write(
                "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\nhello",
              );
            });
        }),
      );
      const { port } = await startRig(test, engine, {
        upstream: portOf(upstream),
        plugins: { cors: filtering(upperCase) },
      });
      const socket = await dial(test, port);
      socket.write("GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n");
      assert.match(await receiveUntil(socket, "hello"), /^HTTP\/1.1 101 /);
    });

    if (engine.name === "http1") {
      it("do not include responses to gRPC calls", async (test) => {
        const upstream = await startHttp2Upstream(test, (stream) => {
          stream.respond({ ":status": 200, "content-type": "application/grpc" }, { waitForTrailers: true });
          stream.once("wantTrailers", () => stream.sendTrailers({ "grpc-status": "0" }));
          stream.end(message("hello"));
        });
        const { session } = await startHttp2(test, engine, {
          upstream,
          route: { protocols: ["grpc", "grpcs"], strip_path: false },
          service: { protocol: "grpc" },
          plugins: { cors: filtering(dropping) },
        });
        const { body, trailers } = await responseOfStream(
          session.request({ ...grpcHeaders, ":path": "/a.B/C" }).end(message("x")),
        );
        assert.deepEqual([body, trailers?.["grpc-status"]], [message("hello"), "0"]);
      });
    }
  });
}
