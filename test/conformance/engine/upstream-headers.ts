/**
 * Headers that a service adds to the requests to its upstream (`upstream_headers`). Neither clients nor plugins can
 * replace or remove them, so the upstream can rely on them.
 */
import assert from "node:assert/strict";
import { createServer, type IncomingHttpHeaders } from "node:http";
import { describe, it } from "node:test";
import { dial, receiveUntil, sendRaw, sendRequest, signal } from "./client.ts";
import { startHttp2 } from "./http2.ts";
import { grpcHeaders, message, requestHttp2, startHttp2Upstream } from "./http2-client.ts";
import { type Engine, listen, portOf, type RigOptions, startRig } from "./proxy-rig.ts";

const upstream_headers = [
  { name: "X-Gateway-Secret", value: "the-secret" },
  { name: "X-Zone", value: "blau-ü" },
];

/** Responds with the received headers as a flat list of names and values, with the names in their received case. */
const echo: RigOptions["upstream"] = (request, response) => {
  request.resume().on("end", () => response.end(JSON.stringify(request.rawHeaders)));
};

/** The values of all headers with this name, in any case and with underscores or hyphens, in the received order. */
const spelled = (flat: readonly string[], name: string): readonly string[] =>
  flat.filter((_, at) => at % 2 === 1 && flat[at - 1]?.toLowerCase().replaceAll("_", "-") === name);

const WEBSOCKET =
  "GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nX-Gateway-Secret: forged\r\n" +
  "x_gateway_secret: forged\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n";

export function upstreamHeaderSuite(engine: Engine): void {
  describe(`headers of a service (${engine.name})`, () => {
    it("are sent with every request of the service, and with no request after their removal", async (test) => {
      const { port, swap } = await startRig(test, engine, { upstream: echo, service: { upstream_headers } });
      for (const method of ["GET", "POST", "DELETE"]) {
        const { body } = await sendRequest(port, { method, ...(method === "POST" && { body: "x" }) });
        const seen = JSON.parse(body);
        assert.ok(seen.includes("X-Gateway-Secret"), "the name keeps the case in which it was configured");
        assert.deepEqual(spelled(seen, "x-gateway-secret"), ["the-secret"]);
        assert.deepEqual(
          spelled(seen, "x-zone").map((value) => Buffer.from(value, "latin1").toString()),
          ["blau-ü"],
        );
      }
      await swap({});
      const { body } = await sendRequest(port);
      assert.deepEqual(spelled(JSON.parse(body), "x-gateway-secret"), []);
    });

    it("replace a client's headers of the same name, in every spelling", async (test) => {
      const { port } = await startRig(test, engine, { upstream: echo, service: { upstream_headers } });
      const forged = [
        "X-Gateway-Secret",
        "x-gateway-secret",
        "X_Gateway_Secret",
        "X-Gateway_Secret",
        "x_gateway-secret",
      ];
      const headers = ["Host", "a", ...forged.flatMap((name) => [name, "forged"]), "X_Zone", "red", "X-Zones", "kept"];
      for (const connection of ["close", "close, X-Gateway-Secret"]) {
        const { body } = await sendRequest(port, { headers: [...headers, "Connection", connection] });
        assert.deepEqual(spelled(JSON.parse(body), "x-gateway-secret"), ["the-secret"], connection);
        assert.equal(spelled(JSON.parse(body), "x-zone").length, 1);
        assert.deepEqual(spelled(JSON.parse(body), "x-zones"), ["kept"]);
      }
    });

    it("replace headers that a plugin set, in every spelling, and are sent even if a plugin removed them", async (test) => {
      const { port } = await startRig(test, engine, {
        upstream: echo,
        service: { upstream_headers },
        plugins: {
          "key-auth": {
            access({ upstreamHeaders }) {
              upstreamHeaders.set("X_Gateway_Secret", "plugin");
              upstreamHeaders.set("x-gateway-secret", "plugin");
              upstreamHeaders.remove("X-Zone");
              upstreamHeaders.set("X-Other", "plugin");
              return undefined;
            },
          },
        },
      });
      const { body } = await sendRequest(port);
      assert.deepEqual(spelled(JSON.parse(body), "x-gateway-secret"), ["the-secret"]);
      assert.equal(spelled(JSON.parse(body), "x-zone").length, 1);
      assert.deepEqual(spelled(JSON.parse(body), "x-other"), ["plugin"]);
    });

    it("replace a header that the gateway sets itself", async (test) => {
      const service = { upstream_headers: [{ name: "X-Forwarded-Proto", value: "https" }] };
      const { port } = await startRig(test, engine, { upstream: echo, service });
      const { body } = await sendRequest(port);
      assert.deepEqual(spelled(JSON.parse(body), "x-forwarded-proto"), ["https"]);
    });

    it("are sent with an upgrade request, instead of a client's headers of the same name", async (test) => {
      const seen = signal<readonly string[]>();
      const server = createServer().on("upgrade", (request, socket) => {
        seen.fire(request.rawHeaders);
        socket.end("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\nhello");
      });
      const upstream = portOf(await listen(test, server));
      const { port } = await startRig(test, engine, { upstream, service: { upstream_headers } });
      const socket = await dial(test, port);
      socket.write(WEBSOCKET);
      await receiveUntil(socket, "hello");
      assert.deepEqual(spelled(await seen.seen, "x-gateway-secret"), ["the-secret"]);
    });

    it("are not accepted from a client's trailers", async (test) => {
      const { port } = await startRig(test, engine, {
        upstream: (request, response) =>
          request
            .resume()
            .on("end", () => response.end(JSON.stringify([request.rawHeaders, request.rawTrailers].flat()))),
        service: { upstream_headers },
      });
      const head = "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n";
      const trailers = "X-Gateway-Secret: forged\r\nx.gateway_secret: forged\r\nX-Sum: 1\r\n";
      const all = await sendRaw(test, port, `${head}1\r\na\r\n0\r\n${trailers}\r\n`);
      assert.match(all, /the-secret/);
      assert.doesNotMatch(all, /forged/);
      if (engine.name === "http1") assert.match(all, /"X-Sum","1"/);
    });

    if (engine.name !== "http1") return;

    it("are sent with the request of an HTTP/2 client, instead of the client's headers of the same name", async (test) => {
      const { session } = await startHttp2(test, engine, { upstream: echo, service: { upstream_headers } });
      const { body } = await requestHttp2(session, {
        headers: { "x-gateway-secret": "forged", x_gateway_secret: "forged" },
      });
      assert.deepEqual(spelled(JSON.parse(body.toString()), "x-gateway-secret"), ["the-secret"]);
    });

    it("are sent with a gRPC call, without a client's headers and trailers of the same name", async (test) => {
      const seen = signal<IncomingHttpHeaders>();
      const seenTrailers = signal<IncomingHttpHeaders>();
      const upstream = await startHttp2Upstream(test, (stream, headers) => {
        seen.fire(headers);
        stream.once("trailers", (came) => seenTrailers.fire(came));
        stream.resume().once("end", () => stream.respond({ ":status": 200, "grpc-status": "0" }, { endStream: true }));
      });
      const { session } = await startHttp2(test, engine, {
        upstream,
        route: { protocols: ["grpc", "grpcs"], strip_path: false },
        service: { protocol: "grpc", upstream_headers },
      });
      const forged = { "x-gateway-secret": "forged", x_gateway_secret: "forged" };
      const trailers = { ...forged, "x.gateway~secret": "forged", "x-sum": "1" };
      await requestHttp2(session, {
        headers: { ...grpcHeaders, ...forged, trailer: "x-sum" },
        body: message("x"),
        trailers,
      });
      const got = await seen.seen;
      assert.deepEqual([got["x-gateway-secret"], got.x_gateway_secret], ["the-secret", undefined]);
      assert.deepEqual(Object.entries(await seenTrailers.seen), [["x-sum", "1"]]);
    });
  });
}
