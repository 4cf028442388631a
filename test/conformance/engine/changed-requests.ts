/** Requests whose method, path, query, headers or body a plugin changes. */
import assert from "node:assert/strict";
import type { RequestListener } from "node:http";
import { describe, it, type TestContext } from "node:test";
import type { Exchange } from "@sluice/plugin-sdk";
import { pluginInstance } from "../../plugins/fake-exchange.ts";
import { withConfigDefaults } from "../../plugins/filled-configs.ts";
import { sendRequest } from "./client.ts";
import { startHttp2 } from "./http2.ts";
import { requestHttp2 } from "./http2-client.ts";
import { type Engine, type RigOptions, startRig } from "./proxy-rig.ts";

const echo: RequestListener = (request, response) => {
  const pieces: Buffer[] = [];
  request.on("data", (piece: Buffer) => pieces.push(piece));
  request.on("end", () => {
    const { method, url, headers } = request;
    const seen = JSON.stringify({ method, url, headers, body: Buffer.concat(pieces).toString() });
    response
      .writeHead(200, { "Content-Length": Buffer.byteLength(seen), "X-Seen": encodeURIComponent(seen) })
      .end(seen);
  });
};

const changing = (
  change: (exchange: Exchange) => void,
  options: Pick<RigOptions, "service" | "route"> = {},
): RigOptions => ({
  upstream: echo,
  plugins: {
    "key-auth": {
      access(exchange) {
        change(exchange);
        return undefined;
      },
    },
  },
  ...options,
});

const seenIn = (headers: Readonly<Record<string, unknown>>) =>
  JSON.parse(decodeURIComponent(String(headers["x-seen"])));

/**
 * Paths that request-transformer writes from captures of the route's path, as the annotation rewrite-target of
 * ingress-nginx does. Unlike nginx, the gateway keeps the escapes of reserved characters, such as %2F.
 */
const rewrites: readonly (readonly [path: string, uri: string, rows: Readonly<Record<string, string | 404>>])[] = [
  [
    "~/(?i)something(/|$)(.*)",
    "/$(uri_captures[2])",
    {
      "/something": "/",
      "/something/": "/",
      "/something/new?q=1&q=2": "/new?q=1&q=2",
      "/Something/New": "/New",
      "/somethingelse": 404,
      "/something/a%20b%2Fc%3Fd%25": "/a%20b%2Fc%3Fd%25",
      "/something//a//b": "/a/b",
      "/something/a+b;c=d": "/a+b;c=d",
      "/something/%61/%C3%A9": "/a/%C3%A9",
    },
  ],
  ["~/(?i)foo", "/", { "/foo": "/", "/foo/bar/baz?x=1": "/?x=1" }],
  ["~/(?i)(a)?b", "/x$(uri_captures[1])$(uri_captures[9])", { "/b/c": "/x", "/ab": "/xa" }],
];

export function changedRequestSuite(engine: Engine): void {
  describe(`requests that plugins change (${engine.name})`, () => {
    it("get the method, path and query that a plugin sets", async (test) => {
      const { port } = await startRig(
        test,
        engine,
        changing(
          (exchange) => {
            exchange.upstreamMethod = "DELETE";
            exchange.upstreamPath = "/é b/%2F";
            exchange.removeQuery(["b"]);
            exchange.upstreamQuery = `${exchange.upstreamQuery}&c=3`;
            exchange.removeQuery(["a"]);
          },
          { service: { path: "/base" } },
        ),
      );
      const { status, body } = await sendRequest(port, { path: "/x?a=1&b=2&d=4" });
      assert.equal(status, 200);
      const { method, url } = JSON.parse(body);
      assert.deepEqual([method, url], ["DELETE", "/%C3%A9%20b/%2F?d=4&c=3"]);
    });

    it("get the query that a plugin sets in URL encoding, so that it cannot end the request line", async (test) => {
      const set = changing((exchange) => {
        exchange.upstreamQuery = "?a=b c\r\nX-B: d\u20ac#e%20";
      });
      const { port } = await startRig(test, engine, set);
      const { url, headers } = JSON.parse((await sendRequest(port)).body);
      assert.deepEqual([url, headers["x-b"]], ["/?a=b%20c%0D%0AX-B:%20d%E2%82%AC%23e%20", undefined]);
    });

    for (const [what, change] of [
      [
        "a method that is none",
        (exchange) => Object.assign(exchange, { upstreamMethod: "GET /evil HTTP/1.1\r\nX-B:" }),
      ],
      ["a query without its ?", (exchange) => Object.assign(exchange, { upstreamQuery: "a=1" })],
      ["a body that is a text", (exchange) => exchange.replaceBody("text" as never)],
      ["no body", (exchange) => exchange.replaceBody(undefined as never)],
    ] satisfies readonly (readonly [string, (exchange: Exchange) => void])[])
      it(`are answered with 500 if a plugin sets ${what}`, async (test) => {
        const set = changing(change);
        const { port } = await startRig(test, engine, set);
        assert.equal((await sendRequest(port)).status, 500);
      });

    for (const [path, uri, rows] of rewrites) {
      it(`get the path ${uri} with captures of the route's path ${path}`, async (test) => {
        const { port } = await startRig(test, engine, {
          upstream: echo,
          service: { path: "/replaced" },
          route: { paths: [path], strip_path: false },
          plugins: {
            "request-transformer": pluginInstance(
              "request-transformer",
              withConfigDefaults("request-transformer", { replace: { uri } }),
            ),
          },
        });
        const seen = Object.keys(rows).map(async (sent) => {
          const { status, body } = await sendRequest(port, { path: sent });
          return [sent, status === 200 ? JSON.parse(body).url : status];
        });
        assert.deepEqual(Object.fromEntries(await Promise.all(seen)), rows);
      });
    }

    it("get X-Forwarded-Prefix with captures of the route's path instead of a forged one", async (test) => {
      const config = {
        remove: { headers: ["X-Forwarded-Prefix"] },
        replace: { uri: "/$(uri_captures[2])" },
        add: { headers: ["X-Forwarded-Prefix:/$(uri_captures[1])/api"] },
      };
      const { port } = await startRig(test, engine, {
        upstream: echo,
        route: { paths: ["~/(?i)(v[0-9])/api/(.*)"], strip_path: false },
        plugins: {
          "request-transformer": pluginInstance(
            "request-transformer",
            withConfigDefaults("request-transformer", config),
          ),
        },
      });
      const { body } = await sendRequest(port, { path: "/V2/api/users", headers: { "X-Forwarded-Prefix": "/forged" } });
      const { url, headers } = JSON.parse(body);
      assert.deepEqual([url, headers["x-forwarded-prefix"]], ["/users", "/V2/api"]);
    });

    it("get a body although the client sent none", async (test) => {
      const { port } = await startRig(
        test,
        engine,
        changing((exchange) => {
          exchange.upstreamMethod = "POST";
          exchange.replaceBody(Buffer.from("created"));
        }),
      );
      for (let count = 0; count < 2; count++) {
        const { body } = await sendRequest(port);
        const { method, headers, ...rest } = JSON.parse(body);
        assert.deepEqual([method, headers["content-length"], rest.body], ["POST", "7", "created"]);
      }
    });

    it("show plugins the headers as they would be forwarded, without a client's identity headers", async (test) => {
      const shown: (readonly string[])[] = [];
      const { port } = await startRig(
        test,
        engine,
        changing((exchange) => {
          const { upstreamHeaders } = exchange;
          upstreamHeaders.append("X-A", "2");
          upstreamHeaders.set("X-B", "new");
          upstreamHeaders.remove("X-C");
          upstreamHeaders.set("X-Consumer-ID", "own");
          for (const name of ["x-a", "x-b", "x-c", "x-d", "x-consumer-id", "x-consumer-username"] as const) {
            shown.push(exchange.upstreamHeaderValues(name));
          }
        }),
      );
      const headers = {
        "X-A": "1",
        "X-B": "1",
        "X-C": "1",
        "X-D": "1",
        "X-Consumer-ID": "1",
        "X-Consumer-Username": "1",
      };
      await sendRequest(port, { headers });
      assert.deepEqual(shown, [["1", "2"], ["new"], [], ["1"], ["own"], []]);
    });

    it("show plugins the captures of the route's path and the shared values of earlier plugins", async (test) => {
      const shown: unknown[] = [];
      const { port } = await startRig(test, engine, {
        upstream: echo,
        route: { paths: ["~/users/(?<id>[^/]+)"] },
        plugins: {
          cors: { access: ({ shared }) => void shared.set("version", "1") },
          "key-auth": {
            access({ shared, pathCaptures }) {
              shown.push({ ...pathCaptures }, shared.get("version"));
              return undefined;
            },
          },
        },
      });
      await sendRequest(port, { path: "/users/7" });
      assert.deepEqual(shown, [{ 0: "/users/7", 1: "7", id: "7" }, "1"]);
    });

    it("are changed by request-transformer", async (test) => {
      const config = withConfigDefaults("request-transformer", {
        http_method: "PUT",
        remove: { headers: ["X-Removed"], querystring: ["a"], body: ["secret"] },
        rename: { headers: ["X-Old:X-New"] },
        replace: { uri: "/v2/$(uri_captures[1])", headers: ["Host:b.test"] },
        add: {
          headers: ["X-User:$(headers['x-consumer-username'] or 'guest')"],
          querystring: ["agent:$(headers.x_agent)"],
          body: ["id:$(uri_captures.id)"],
        },
        append: { headers: ["X-New:2"] },
      });
      const { port } = await startRig(test, engine, {
        upstream: echo,
        route: { paths: ["~/users/(?<id>[^/]+)"] },
        plugins: {
          "request-transformer": pluginInstance("request-transformer", config),
        },
      });
      const encodings: readonly Readonly<Record<string, string>>[] = [{}, { "Transfer-Encoding": "chunked" }];
      for (const encoding of encodings) {
        const { status, body } = await sendRequest(port, {
          method: "POST",
          path: "/users/7?a=1&b=%2F",
          headers: {
            ...{ "X-Removed": "1", "X-Old": "1", "X-Agent": "a b", "X-Consumer-Username": "forged" },
            ...{ "Content-Type": "application/json", ...encoding },
          },
          body: '{"secret":"s","n":1.0}',
        });
        assert.equal(status, 200);
        const { method, url, headers, ...rest } = JSON.parse(body);
        assert.deepEqual([method, url, rest.body], ["PUT", "/v2/7?b=%2F&agent=a%20b", '{"n":1.0,"id":"7"}']);
        const { host, "content-length": length, "x-removed": removed, "x-old": old, "x-new": named } = headers;
        assert.deepEqual([host, length, removed, old, named], ["b.test", "18", undefined, undefined, "1, 2"]);
        assert.equal(headers["x-user"], "guest");
        assert.equal(headers["x-consumer-username"], undefined);
      }
    });

    const toHead = changing((exchange) => {
      exchange.upstreamMethod = "HEAD";
    });
    const toGet = changing((exchange) => {
      exchange.upstreamMethod = "GET";
    });

    it("are answered without a body if the method becomes HEAD, and the upstream's connection stays usable", async (test) => {
      const { port } = await startRig(test, engine, toHead);
      for (let count = 0; count < 2; count++) {
        const { status, body, headers, complete } = await sendRequest(port);
        assert.deepEqual([status, body, headers["content-length"], complete], [200, "", "0", true]);
        assert.equal(seenIn(headers).method, "HEAD");
      }
    });

    it("are answered without a body if the client's HEAD becomes GET", async (test) => {
      const { port } = await startRig(test, engine, toGet);
      for (let count = 0; count < 2; count++) {
        const { status, body, headers } = await sendRequest(port, { method: "HEAD" });
        assert.deepEqual([status, body, seenIn(headers).method], [200, "", "GET"]);
      }
    });

    if (engine.name === "http1") {
      const over2 = async (test: TestContext, options: RigOptions, method: string) => {
        const { session } = await startHttp2(test, engine, options);
        const { status, headers, body } = await requestHttp2(session, { headers: { ":method": method } });
        return [status, body.toString(), seenIn(headers).method];
      };

      it("are answered without a body over HTTP/2 too if a plugin changes the method to or from HEAD", async (test) => {
        assert.deepEqual(await over2(test, toHead, "GET"), [200, "", "HEAD"]);
        assert.deepEqual(await over2(test, toGet, "HEAD"), [200, "", "GET"]);
      });
    }
  });
}
