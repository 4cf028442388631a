/**
 * Attacks on the cache of proxy-cache: requests that must not share a response, and responses that must not be stored.
 */
import assert from "node:assert/strict";
import type { RequestListener } from "node:http";
import { describe, it } from "node:test";
import type { PluginPhases } from "@sluice/plugin-sdk";
import { waitFor } from "../../../tools/process/index.ts";
import { fakeConsumer } from "../../plugins/fake-exchange.ts";
import { type Cached, counting, plainText, startCache } from "./cached-responses.ts";
import { dial, receiveUntil, type Sent, sendRequest } from "./client.ts";
import type { Engine } from "./proxy-rig.ts";

/** Two requests that must not share a response. */
interface Pair extends Cached {
  readonly what: string;
  readonly first: Sent;
  readonly second: Sent;
  /** X-Cache-Status of both responses; default: Miss. */
  readonly statuses?: readonly [string, string];
}

/** Sets the consumer that the header X-User names, like an authentication plugin. */
const identifying: PluginPhases = {
  access(exchange) {
    const name = exchange.request.header("x-user");
    if (name !== undefined) exchange.consumer = fakeConsumer({ id: name, username: name });
    return undefined;
  },
};

/** Sends the upstream a header with the user that the header X-User names, like an authentication plugin. */
const telling: PluginPhases = {
  access(exchange) {
    exchange.upstreamHeaders.set("X-Told", exchange.request.header("x-user") ?? "");
    return undefined;
  },
};

const ranged: RequestListener = ({ headers }, response) => {
  if (headers.range === undefined) response.writeHead(200, plainText).end("0123456789");
  else response.writeHead(206, { ...plainText, "Content-Range": "bytes 0-0/10" }).end("0");
};

const partial: RequestListener = (_request, response) => {
  response.writeHead(206, { ...plainText, "Content-Range": "bytes 0-0/10" }).end("0");
};

const bypassed = ["Bypass", "Miss"] as const;
const never = ["Bypass", "Bypass"] as const;

const pairs: readonly Pair[] = [
  { what: "another host", first: { headers: { host: "evil.test" } }, second: { headers: { host: "good.test" } } },
  ...["X-Forwarded-Host", "X-Forwarded-Port", "X-Forwarded-Path", "X-Forwarded-Prefix", "X-Forwarded-User"].map(
    (name) => ({
      what: `another ${name} of a trusted proxy`,
      isTrusted: true,
      first: { headers: { [name]: "81" } },
      second: { headers: { [name]: "80" } },
    }),
  ),
  ...["Forwarded", "X-Forwarded-Scheme", "X-Host", "X-HTTP-Host-Override", "X-Original-Host", "X-URL-Scheme"].map(
    (name) => ({ what: `the header ${name}`, first: { headers: { [name]: "host=evil.test" } }, second: {} }),
  ),
  ...["X_HTTP_Method_Override", "X.Original.URL", "X_Host"].map((name) => ({
    what: `the header ${name}, which some upstreams read like the one with dashes`,
    first: { headers: { [name]: "DELETE" } },
    second: {},
  })),
  { what: "another query", first: { path: "/?a=1" }, second: { path: "/?a=2" } },
  {
    what: "another query with the same text when joined by colons",
    first: { path: "/?a=1:b=2" },
    second: { path: "/?a=1&b=2" },
  },
  { what: "another order of repeated parameters", first: { path: "/?a=1&a=2" }, second: { path: "/?a=2&a=1" } },
  { what: "another encoding of a parameter", first: { path: "/?%61=1" }, second: { path: "/?a=1" } },
  {
    what: "a parameter hidden behind a semicolon",
    config: { vary_query_params: ["q"] },
    first: { path: "/?x=1;q=evil" },
    second: { path: "/?x=1" },
  },
  { what: "another path", first: { path: "/a" }, second: { path: "/b" } },
  { what: "a path in another case", first: { path: "/A" }, second: { path: "/a" } },
  { what: "another method", first: { method: "HEAD" }, second: {} },
  ...["x-http-method-override", "x-http-method", "x-method-override", "x-original-url", "x-rewrite-url"].map(
    (name) => ({
      what: `the header ${name}`,
      first: { headers: { [name]: "DELETE" } },
      second: {},
      statuses: bypassed,
    }),
  ),
  { what: "a range", upstream: ranged, first: { headers: { range: "bytes=0-0" } }, second: {}, statuses: bypassed },
  {
    what: "a partial response that was not requested, even if 206 is configured",
    config: { response_code: [200, 206] },
    upstream: partial,
    first: {},
    second: {},
    statuses: never,
  },
  {
    what: "failed conditions, even if 412 is configured",
    config: { response_code: [200, 412] },
    upstream: counting({}, 412),
    first: { headers: { "if-match": '"none"' } },
    second: {},
    statuses: never,
  },
  {
    what: "a body of GET",
    first: { headers: { "content-length": "4" }, body: "evil" },
    second: {},
    statuses: bypassed,
  },
  {
    what: "a chunked body of GET",
    first: { headers: { "transfer-encoding": "chunked" }, body: "evil" },
    second: {},
    statuses: bypassed,
  },
  {
    what: "another body of POST",
    config: { request_method: ["POST"] },
    first: { method: "POST", body: "a" },
    second: { method: "POST", body: "b" },
  },
  {
    what: "a body of POST above 1 MiB",
    config: { request_method: ["POST"] },
    first: { method: "POST", body: Buffer.alloc(1_048_577) },
    second: { method: "POST", body: Buffer.alloc(1_048_577) },
    statuses: never,
  },
  { what: "Authorization", first: { headers: { authorization: "Bearer a" } }, second: {}, statuses: bypassed },
  {
    what: "another user, if Authorization is part of the key",
    config: { vary_headers: ["authorization"] },
    first: { headers: { authorization: "Bearer a" } },
    second: { headers: { authorization: "Bearer b" } },
  },
  {
    what: "another consumer",
    plugins: { "key-auth": identifying },
    first: { headers: { "x-user": "a" } },
    second: { headers: { "x-user": "b" } },
  },
  {
    what: "no consumer",
    plugins: { "key-auth": identifying },
    first: { headers: { "x-user": "a" } },
    second: {},
  },
  {
    what: "another value of a configured header",
    config: { vary_headers: ["X-A"] },
    first: { headers: { "x-a": "1" } },
    second: { headers: { "x-a": "2" } },
  },
  {
    what: "another value of a configured header that a plugin has set",
    config: { vary_headers: ["X-Told"] },
    plugins: { "key-auth": telling },
    first: { headers: { "x-user": "a" } },
    second: { headers: { "x-user": "b" } },
  },
  {
    what: "a repeated header instead of one with a comma",
    config: { vary_headers: ["X-A"] },
    first: { headers: ["Host", "a", "X-A", "1", "X-A", "2"] },
    second: { headers: ["Host", "a", "X-A", "1, 2"] },
  },
  {
    what: "another encoding that the client accepts, with Vary",
    upstream: counting({ vary: "Accept-Encoding" }),
    first: { headers: { "accept-encoding": "gzip" } },
    second: { headers: { "accept-encoding": "identity" } },
  },
  { what: "Vary: *", upstream: counting({ vary: "Accept, *" }), first: {}, second: {}, statuses: never },
  { what: "Set-Cookie", upstream: counting({ "set-cookie": "id=1" }), first: {}, second: {}, statuses: never },
  {
    what: "two media types",
    upstream: counting({ "content-type": ["text/plain", "text/html"] }),
    first: {},
    second: {},
    statuses: never,
  },
  {
    what: "an error of the gateway, even if its status is configured",
    config: { response_code: [502], content_type: ["*/*"] },
    upstream: (_request, response) => void response.destroy(),
    first: {},
    second: {},
    statuses: never,
  },
  {
    what: "a body above 1 MiB",
    upstream: (_request, response) =>
      void response.writeHead(200, { ...plainText, "Content-Length": 1_048_577 }).end(Buffer.alloc(1_048_577, "a")),
    first: {},
    second: {},
    statuses: never,
  },
  {
    what: "a body above 1 MiB in chunks",
    upstream(_request, response) {
      response.writeHead(200, plainText).write(Buffer.alloc(1_048_576, "a"));
      response.end("a");
    },
    first: {},
    second: {},
  },
  {
    what: "a body that ends with its connection",
    upstream({ socket }) {
      socket.end("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nConnection: close\r\n\r\nhello");
    },
    first: {},
    second: {},
  },
];

/** Responses that an upstream breaks off. */
const truncated: readonly (readonly [what: string, upstream: RequestListener])[] = [
  [
    "a Content-Length",
    (_request, response) => {
      response.writeHead(200, { ...plainText, "Content-Length": 10 }).write("hello", () => response.destroy());
    },
  ],
  [
    "chunks",
    (_request, response) => {
      response.writeHead(200, plainText).write("hello", () => response.destroy());
    },
  ],
];

export function unsharedResponseSuite(engine: Engine): void {
  describe(`responses that the cache must not share (${engine.name})`, () => {
    for (const { what, config, upstream, plugins, isTrusted, first, second, statuses = ["Miss", "Miss"] } of pairs) {
      it(`are not reused for the next request: ${what}`, async (test) => {
        const { port } = await startCache(test, engine, {
          ...(config && { config }),
          ...(upstream && { upstream }),
          ...(plugins && { plugins }),
          ...(isTrusted && { isTrusted }),
        });
        const seen = [await sendRequest(port, first), await sendRequest(port, second)];
        assert.deepEqual(
          seen.map(({ headers }) => headers["x-cache-status"]),
          statuses,
        );
      });
    }

    for (const [what, upstream] of truncated) {
      it(`are never truncated: a body with ${what} is not stored if the upstream aborts it`, async (test) => {
        let isBroken = true;
        const { port } = await startCache(test, engine, {
          upstream: (request, response) => (isBroken ? upstream(request, response) : counting()(request, response)),
        });
        const broken = await sendRequest(port).catch(() => null);
        assert.notEqual(broken?.complete, true);
        isBroken = false;
        const whole = await sendRequest(port);
        assert.deepEqual([whole.headers["x-cache-status"], whole.body], ["Miss", "1 GET /"]);
      });
    }

    it("are not stored if the client disconnects before the end of the body", async (test) => {
      let isOpen = false;
      const { port } = await startCache(test, engine, {
        upstream(_request, response) {
          response.writeHead(200, plainText).write("first");
          isOpen = true;
          response.once("close", () => {
            isOpen = false;
          });
        },
      });
      const socket = await dial(test, port);
      socket.write(`GET / HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\n\r\n`);
      await receiveUntil(socket, "first");
      socket.destroy();
      await waitFor(() => !isOpen, { what: "the gateway to cancel the request" });
      const next = await dial(test, port);
      next.write(`GET / HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\n\r\n`);
      assert.match(await receiveUntil(next, "first"), /X-Cache-Status: Miss/);
    });
  });
}
