/** Middleware in the real proxy. */
import assert from "node:assert/strict";
import { connect } from "node:net";
import { test } from "node:test";
import { definePlugin, type Middleware, middleware, record } from "@sluice/plugin-sdk";
import { leaksNothing, startTestGateway } from "./index.ts";

let plugins = 0;

const start = (handler: Middleware) =>
  startTestGateway({
    plugin: definePlugin({
      name: `middleware-${++plugins}`,
      version: "1.0.0",
      priority: 10,
      protects: false,
      schema: record({}, { description: "A middleware." }),
      phases: () => middleware(handler, { bodyLimit: 100 }),
    }),
    upstream(request, response) {
      const { method, url, headers } = request;
      let body = "";
      request.on("data", (piece) => {
        body += piece;
      });
      request.on("end", () => {
        response.setHeader("x-upstream", "1");
        response.end(JSON.stringify({ method, url, header: headers["x-a"], gone: headers["x-gone"], body }));
      });
    },
  });

type Row = readonly [
  what: string,
  handler: Middleware,
  request: readonly [path: string, init?: RequestInit],
  status: number,
  body: object | string,
  headers?: Readonly<Record<string, string | null>>,
];

const post = { method: "POST", body: "given" };
const seen = { method: "GET", url: "/p?q=1", body: "" };

const rows: readonly Row[] = [
  [
    "forwards a request unchanged",
    (_, next) => next(),
    ["/p?q=1", { headers: { "x-a": "b" } }],
    200,
    { ...seen, header: "b" },
  ],
  [
    "forwards a body that it does not read",
    (_, next) => next(),
    ["/", { ...post, body: "more than 100 bytes ".repeat(6) }],
    200,
    { method: "POST", url: "/", body: "more than 100 bytes ".repeat(6) },
  ],
  [
    "answers without forwarding the request",
    () => new Response("mine", { status: 418, headers: { "x-own": "yes" } }),
    ["/"],
    418,
    "mine",
    { "x-own": "yes", "x-upstream": null },
  ],
  [
    "sends several cookies",
    () =>
      new Response("", {
        headers: [
          ["set-cookie", "a=1"],
          ["set-cookie", "b=2"],
        ],
      }),
    ["/"],
    200,
    "",
    { "set-cookie": "a=1, b=2" },
  ],
  [
    "edits headers of the forwarded request",
    (request, next) => {
      request.headers.set("x-a", "set");
      request.headers.delete("x-gone");
      return next(request);
    },
    ["/p?q=1", { headers: { "x-gone": "1" } }],
    200,
    { ...seen, header: "set" },
  ],
  [
    "forwards a different request",
    (_, next) =>
      next(new Request("http://any/other path?z=2", { method: "PUT", body: "new", headers: { "x-a": "n" } })),
    ["/p", post],
    200,
    { method: "PUT", url: "/other%20path?z=2", header: "n", body: "new" },
  ],
  [
    "forwards a different request without a body",
    (request, next) => next(new Request(request.url, { method: "PUT" })),
    ["/", post],
    200,
    { method: "PUT", url: "/", body: "" },
  ],
  [
    "forwards escapes of a changed path as they are",
    (_, next) => next(new Request("http://any/a%2541%2F%FFb")),
    ["/p"],
    200,
    { url: "/a%2541%2F%FFb" },
  ],
  [
    "reads the body and forwards it",
    async (request, next) => next(new Request(request, { body: (await request.text()).toUpperCase() })),
    ["/", post],
    200,
    { method: "POST", url: "/", body: "GIVEN" },
  ],
  [
    "answers 413 when it reads a body that is too long",
    async (request) => new Response(await request.text()),
    ["/", { method: "POST", body: "a".repeat(101) }],
    413,
    { message: "Request size limit exceeded" },
  ],
  [
    "edits headers of the upstream's response",
    async (_, next) => {
      const response = await next();
      response.headers.set("x-new", "1");
      response.headers.delete("x-upstream");
      return response;
    },
    ["/p?q=1"],
    200,
    seen,
    { "x-new": "1", "x-upstream": null },
  ],
  [
    "reads the upstream's response and returns another",
    async (_, next) => {
      const response = await next();
      return new Response(
        `${response.status} ${response.headers.get("x-upstream")} ${await response.text()}`.slice(0, 8),
      );
    },
    ["/"],
    200,
    '200 1 {"',
    { "x-upstream": null },
  ],
  [
    "answers 500 when it forwards the request twice",
    async (_, next) => {
      await next();
      return next();
    },
    ["/"],
    500,
    /unexpected/.source,
  ],
  ["answers 500 when it throws", () => Promise.reject(new Error("thrown")), ["/"], 500, /unexpected/.source],
];

for (const [what, handler, [path, init], status, expected, headers = {}] of rows)
  test(`a middleware ${what}`, async () => {
    await using gateway = await start(handler);
    const response = await gateway.fetch(path, init);
    const body = await response.text();
    assert.equal(response.status, status, body);
    if (status === 500) assert.match(body, new RegExp(String(expected)));
    else if (typeof expected === "string") assert.equal(body, expected);
    else assert.partialDeepStrictEqual(JSON.parse(body), expected);
    for (const [name, value] of Object.entries(headers)) assert.equal(response.headers.get(name), value);
  });

for (const [what, head, expected] of [
  ["answers 405 to TRACE, a method that a Request cannot have", "TRACE / HTTP/1.1\r\nHost: a.test", /^HTTP\/1\.1 405 /],
  ["answers 405 to trace, which a Request refuses too", "trace / HTTP/1.1\r\nHost: a.test", /^HTTP\/1\.1 405 /],
  // Node's server refuses this method, which is not DELETE (RFC 9110 section 9.1).
  [
    "forwards the method delete as it is, although a Request has it as DELETE",
    "delete / HTTP/1.1\r\nHost: a.test",
    /^HTTP\/1\.1 400 /,
  ],
  [
    "forwards the method get with a body as it is",
    "get / HTTP/1.1\r\nHost: a.test\r\nContent-Length: 1\r\n\r\na",
    /^HTTP\/1\.1 400 /,
  ],
  ...["a.999", "a%00.test"].map(
    (host) =>
      [
        `answers 400 to the host ${host}, which a URL cannot have`,
        `GET / HTTP/1.1\r\nHost: ${host}`,
        /^HTTP\/1\.1 400 /,
      ] as const,
  ),
  [
    "forwards a request of HTTP/1.0 without a host",
    "GET /p?q=1 HTTP/1.0",
    /^HTTP\/1\.[01] 200 [\s\S]*"url":"\/p\?q=1"/,
  ],
] as const)
  test(`a middleware ${what}`, async () => {
    await using gateway = await start((_, next) => next());
    const socket = connect(Number(new URL(gateway.url).port), "127.0.0.1");
    socket.write(`${head}\r\nConnection: close\r\n\r\n`);
    assert.match(Buffer.concat(await socket.toArray()).toString(), expected);
  });

test("a middleware leaves nothing in memory", async () => {
  await using gateway = await start(async (_, next) => {
    const response = await next();
    return new Response((await response.text()).slice(0, 5), response);
  });
  await leaksNothing(gateway, { requests: 5000 });
});
