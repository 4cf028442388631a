/** Plugins that are middleware: what they read of responses, and what the client receives. */
import assert from "node:assert/strict";
import type { RequestListener } from "node:http";
import { describe, it } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import { type Middleware, middleware, type PluginPhases } from "@sluice/plugin-sdk";
import { startCache } from "./cached-responses.ts";
import { dial, receiveUntil, sendRequest, signal } from "./client.ts";
import { respondChunked, sized, waysToAsk } from "./filtered-bodies.ts";
import { type Engine, startRig } from "./proxy-rig.ts";

const upstreamJson: RequestListener = (_request, response) => {
  response.writeHead(201, { "Content-Type": "application/json", "X-Up": "1", "Set-Cookie": ["a=1", "b=2"] });
  response.end('{"n":1}');
};
const longBody: RequestListener = (_request, response) => response.writeHead(200).end("a".repeat(11));
const bodiless =
  (status: number): RequestListener =>
  (_request, response) =>
    response.writeHead(status).end();

interface Expected {
  readonly status?: number;
  readonly body?: string | RegExp;
  readonly length?: string | undefined;
  readonly edits?: string;
}

type Row = readonly [what: string, upstream: RequestListener, handler: Middleware, Expected, method?: "HEAD"];

const rows: readonly Row[] = [
  [
    "reads status, headers and body of a response, and returns another response",
    upstreamJson,
    async (request, next) => {
      const response = await next(request);
      const { n } = (await response.json()) as { readonly n: number };
      const type = response.headers.get("content-type");
      const cookies = response.headers.getSetCookie();
      return new Response(JSON.stringify({ n: n + 1, type, cookies, status: response.status }));
    },
    { status: 200, body: '{"n":2,"type":"application/json","cookies":["a=1","b=2"],"status":201}' },
  ],
  [
    "returns another body with the headers and the status of the response",
    upstreamJson,
    async (_request, next) => {
      const response = await next();
      response.headers.set("x-a", "1");
      return new Response((await response.text()).replace("1", "22"), response);
    },
    { status: 201, body: '{"n":22}', length: "8", edits: "1" },
  ],
  [
    "waits after the response has arrived, and then edits its headers",
    sized,
    async (_request, next) => {
      const response = await next();
      await turn();
      response.headers.append("x-a", "1");
      response.headers.append("x-a", "2");
      return response;
    },
    { body: "hello", length: "5", edits: "1, 2" },
  ],
  [
    "returns the body of the response in another Response, as in Cloudflare Workers",
    respondChunked,
    async (_request, next) => {
      const response = await next();
      const { body } = response;
      return new Response(body, { headers: { ...Object.fromEntries(response.headers), "x-a": "1" } });
    },
    { body: "hello", edits: "1" },
  ],
  [
    "returns the body of the response with another status",
    respondChunked,
    async (_request, next) => new Response((await next()).body, { status: 404 }),
    { status: 404, body: "hello", length: "5" },
  ],
  [
    "returns a stream into which it has piped the body",
    respondChunked,
    async (_request, next) => {
      const upper = new TransformStream<Uint8Array, Uint8Array>({
        transform: (piece, controller) => controller.enqueue(Buffer.from(String(Buffer.from(piece)).toUpperCase())),
      });
      return new Response((await next()).body?.pipeThrough(upper) ?? null);
    },
    { body: "HELLO", length: "5" },
  ],
  [
    "reads a copy of the response",
    sized,
    async (_request, next) => {
      const response = await next();
      response.headers.set("x-a", await response.clone().text());
      return response;
    },
    { body: "hello", length: "5", edits: "hello" },
  ],
  [
    "returns bytes that are not text",
    sized,
    async (_request, next) => new Response(new Uint8Array([0xff, 0x41]), await next()),
    { body: "\ufffdA", length: "2" },
  ],
  [
    "answers by itself after the request was forwarded",
    sized,
    async (_request, next) => {
      await next();
      return new Response("mine", { status: 418 });
    },
    { status: 418, body: "mine", length: "4" },
  ],
  [
    "reads a response without a body",
    bodiless(204),
    async (_request, next) => {
      const response = await next();
      response.headers.set("x-a", `${response.body}`);
      return response;
    },
    { status: 204, body: "", edits: "null" },
  ],
  [
    "reads the response to HEAD",
    sized,
    async (_request, next) => {
      const response = await next();
      response.headers.set("x-a", `${response.body} ${response.headers.get("content-length")}`);
      return response;
    },
    { body: "", length: "5", edits: "null 5" },
    "HEAD",
  ],
  [
    "is shown the gateway's own response",
    bodiless(200),
    async (_request, next) => {
      const response = await next();
      return new Response(`${response.status} ${await response.text()}`, response);
    },
    { status: 403, body: "403 refused", length: "11" },
  ],
  [
    "causes a 500 if it throws after the response has arrived",
    sized,
    async (_request, next) => {
      const response = await next();
      response.headers.set("x-a", "1");
      throw new Error("broken handler");
    },
    { status: 500, body: /An unexpected error occurred/ },
  ],
  [
    "causes a 500 if it returns a response whose body it has read",
    sized,
    async (_request, next) => {
      const response = await next();
      await response.text();
      return response;
    },
    { status: 500, body: /An unexpected error occurred/ },
  ],
  [
    "causes a 502 if it reads a body beyond its limit",
    longBody,
    async (_request, next) => {
      const response = await next();
      return new Response(await response.text());
    },
    { status: 502, body: /An invalid response was received/ },
  ],
  ["may pass on a body beyond its limit", longBody, async (_request, next) => next(), { body: "a".repeat(11) }],
  [
    "causes a 500 if it reads the body of the request after the request was forwarded",
    sized,
    async (request, next) => {
      await next();
      return new Response(await request.text());
    },
    { status: 500, body: /An unexpected error occurred/ },
  ],
];

const plugin = (handler: Middleware): PluginPhases => middleware(handler, { bodyLimit: 10 });

/** Refuses requests in the row about the gateway's own response. */
const refusing = (what: string): PluginPhases => ({
  access: () => (what.includes("own response") ? { status: 403, body: "refused" } : undefined),
});

export function middlewareSuite(engine: Engine): void {
  describe(`a middleware (${engine.name})`, () => {
    for (const [version, sendOver] of waysToAsk(engine))
      for (const [what, upstream, handler, expected, method] of rows)
        it(`${what}, over ${version}`, async (test) => {
          const plugins = { "key-auth": plugin(handler), "rate-limiting": refusing(what) };
          const isPost = what.includes("body of the request");
          const seen = await sendOver(test, { upstream, plugins }, method ?? (isPost ? "POST" : "GET"));
          const { status = 200, body = "", length = seen.length, edits } = expected;
          assert.deepEqual([seen.status, seen.complete, seen.length, seen.edits], [status, true, length, edits]);
          if (typeof body === "string") assert.equal(seen.body, body);
          else assert.match(seen.body, body);
        });

    it("wraps the middlewares of plugins with lower priorities", async (test) => {
      const adding =
        (name: string): Middleware =>
        async (request, next) => {
          request.headers.append("x-way", name);
          const response = await next(request);
          return new Response(`${name}(${await response.text()})`, response);
        };
      const { port } = await startRig(test, engine, {
        upstream: ({ headers }, response) => response.end(headers["x-way"]),
        plugins: {
          cors: middleware(adding("outer")),
          "key-auth": middleware(async (_request, next) => {
            try {
              return await next();
            } finally {
              await turn();
            }
          }),
          "rate-limiting": middleware(adding("inner")),
        },
      });
      assert.equal((await sendRequest(port)).body, "outer(inner(inner))");
    });

    it("passes the events of a stream on as they arrive, even if it edits the headers", async (test) => {
      const next = signal();
      const { port } = await startRig(test, engine, {
        upstream(_request, response) {
          response.writeHead(200, { "Content-Type": "text/event-stream" }).write("data: first\n\n");
          next.seen.then(() => response.end("data: second\n\n"));
        },
        plugins: {
          cors: middleware(async (_request, forward) => {
            const response = await forward();
            return new Response(response.body, { headers: { ...Object.fromEntries(response.headers), "x-a": "1" } });
          }),
        },
      });
      const socket = await dial(test, port);
      socket.write("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
      assert.match(await receiveUntil(socket, "first"), /x-a: 1/);
      const second = receiveUntil(socket, "second");
      next.fire();
      await second;
    });

    it("acts on responses from the cache, which stores responses of the upstream, but none that a middleware replaced", async (test) => {
      for (const [replaces, statuses, bodies] of [
        [false, ["Miss", "Hit"], ["1 GET /", "1 GET /"]],
        [true, ["Bypass", "Bypass"], ["<1 GET />", "<2 GET />"]],
      ] as const) {
        const handler: Middleware = async (_request, next) => {
          const response = await next();
          response.headers.append("x-a", "1");
          return replaces ? new Response(`<${await response.text()}>`, response) : response;
        };
        const { port } = await startCache(test, engine, { plugins: { "key-auth": middleware(handler) } });
        const seen = [await sendRequest(port), await sendRequest(port)];
        assert.deepEqual(
          seen.map(({ headers }) => headers["x-cache-status"]),
          statuses,
        );
        assert.deepEqual(
          seen.map(({ body }) => body),
          bodies,
        );
        assert.deepEqual(
          seen.map(({ headers }) => headers["x-a"]),
          ["1", "1"],
        );
      }
    });

    it("receives an error from next if the client disconnects before the response", async (test) => {
      const entered = signal();
      const failed = signal<Error>();
      const rig = await startRig(test, engine, {
        upstream: () => entered.fire(),
        plugins: {
          cors: middleware(async (_request, next) => {
            try {
              return await next();
            } catch (error) {
              failed.fire(error as Error);
              throw error;
            }
          }),
        },
      });
      const socket = await dial(test, rig.port);
      socket.write("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
      await entered.seen;
      socket.destroy();
      assert.match(String(await failed.seen), /the exchange ended before a response/);
      assert.deepEqual(rig.log, []);
    });
  });
}
