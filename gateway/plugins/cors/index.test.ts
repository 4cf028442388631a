import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type FakeExchangeOptions, fakeContext, fakeExchange } from "../../../test/plugins/fake-exchange.ts";
import { filledCors } from "../../../test/plugins/filled-configs.ts";
import { cors } from "./index.ts";
import type { CorsConfig } from "./schema.ts";

async function send(config: Partial<CorsConfig>, options: FakeExchangeOptions = {}) {
  const plugin = cors.phases({ ...filledCors, ...config }, fakeContext());
  const exchange = fakeExchange(options);
  const answer = await plugin.access?.(exchange);
  plugin.responseHeaders?.(exchange);
  return { answer, headers: exchange.responseHeaders.all() };
}

const origin = "https://a.test";
const preflight = (headers: Readonly<Record<string, string>> = {}): FakeExchangeOptions => ({
  method: "OPTIONS",
  headers: { origin, "access-control-request-method": "POST", ...headers },
});
const plain: FakeExchangeOptions = { headers: { origin } };
const all = "GET,HEAD,PUT,PATCH,POST,DELETE,OPTIONS,TRACE,CONNECT";

type Headers = Readonly<Record<string, string>>;
type Variant = readonly [what: string, config: Partial<CorsConfig>, request: FakeExchangeOptions, headers: Headers];

const preflights: readonly Variant[] = [
  [
    "the method for which the browser asks with methods *",
    { methods: ["*"] },
    preflight({ "access-control-request-method": "PURGE" }),
    { "access-control-allow-origin": "*", "access-control-allow-methods": "PURGE" },
  ],
  [
    "Access-Control-Allow-Origin: * by default",
    {},
    preflight(),
    { "access-control-allow-origin": "*", "access-control-allow-methods": all },
  ],
  [
    "the requested headers",
    {},
    preflight({ "access-control-request-headers": "x-a, x-b" }),
    {
      "access-control-allow-origin": "*",
      "access-control-allow-methods": all,
      "access-control-allow-headers": "x-a, x-b",
    },
  ],
  [
    "the configured methods and headers, and how long they may be cached",
    { methods: ["GET", "POST"], headers: ["x-a", "x-b"], max_age: 600, exposed_headers: ["x-c"] },
    preflight({ "access-control-request-headers": "x-other" }),
    {
      "access-control-allow-origin": "*",
      "access-control-allow-methods": "GET,POST",
      "access-control-allow-headers": "x-a,x-b",
      "access-control-max-age": "600",
      "access-control-expose-headers": "x-c",
    },
  ],
  [
    "the requesting origin when credentials may be sent",
    { credentials: true, methods: ["GET"] },
    preflight(),
    {
      "access-control-allow-origin": origin,
      "access-control-allow-credentials": "true",
      "access-control-allow-methods": "GET",
      vary: "Origin",
    },
  ],
  [
    "permission to use a private network, if the browser asks for it",
    { private_network: true, methods: ["GET"] },
    preflight({ "access-control-request-private-network": "true" }),
    {
      "access-control-allow-origin": "*",
      "access-control-allow-methods": "GET",
      "access-control-allow-private-network": "true",
    },
  ],
  [
    "no Access-Control-Allow-Origin if the origin is not listed",
    { origins: ["https://b.test", "https://c.test"], methods: ["GET"] },
    preflight(),
    { "access-control-allow-methods": "GET", vary: "Origin" },
  ],
];

const responses: readonly Variant[] = [
  ["Access-Control-Allow-Origin: * by default", {}, plain, { "access-control-allow-origin": "*" }],
  [
    "Access-Control-Allow-Origin: * also for a request without an origin",
    {},
    {},
    { "access-control-allow-origin": "*" },
  ],
  [
    "only Vary for a request without an origin, with allow_origin_absent: false",
    { allow_origin_absent: false },
    {},
    { vary: "Origin" },
  ],
  [
    "Access-Control-Allow-Origin and Vary for a request with an origin, with allow_origin_absent: false",
    { allow_origin_absent: false },
    plain,
    { "access-control-allow-origin": "*", vary: "Origin" },
  ],
  [
    "Access-Control-Allow-Origin: * in place of the upstream's own value",
    {},
    { ...plain, responseHeaders: { "access-control-allow-origin": "https://evil.test" } },
    { "access-control-allow-origin": "*" },
  ],
  [
    "no Access-Control-Allow-Origin, not even the upstream's own, if the origin is not listed",
    { origins: ["https://b.test", "https://c.test"] },
    { ...plain, responseHeaders: { "access-control-allow-origin": "*", vary: "Accept" } },
    { vary: "Accept, Origin" },
  ],
  [
    "a listed origin",
    { origins: [origin, "https://b.test"], credentials: true },
    plain,
    { "access-control-allow-origin": origin, "access-control-allow-credentials": "true", vary: "Origin" },
  ],
  [
    "the single configured origin, for any requesting origin",
    { origins: ["https://b.test"] },
    plain,
    { "access-control-allow-origin": "https://b.test", vary: "Origin" },
  ],
  [
    "the requesting origin if all origins may send credentials",
    { origins: ["*"], credentials: true },
    plain,
    { "access-control-allow-origin": origin, "access-control-allow-credentials": "true", vary: "Origin" },
  ],
  [
    "Access-Control-Allow-Origin: * and Vary for a request without an origin, with credentials: true",
    { credentials: true },
    {},
    { "access-control-allow-origin": "*", vary: "Origin" },
  ],
  [
    "the exposed headers, without the headers for preflights",
    { exposed_headers: ["x-a", "x-b"], max_age: 600, headers: ["x-c"] },
    plain,
    { "access-control-allow-origin": "*", "access-control-expose-headers": "x-a,x-b" },
  ],
  [
    "Access-Control-Allow-Origin: * for an OPTIONS request that is not a preflight",
    {},
    { method: "OPTIONS", headers: { origin } },
    { "access-control-allow-origin": "*" },
  ],
];

describe("cors", () => {
  for (const [what, config, request, expected] of preflights) {
    it(`answers a preflight with 200, an empty body, and ${what}`, async () => {
      const { answer, headers } = await send(config, request);
      assert.deepEqual(answer, { status: 200, body: "" });
      assert.deepEqual(headers, expected);
    });
  }

  it("leaves preflights and their responses to the upstream with preflight_continue", async () => {
    const own = { "access-control-allow-origin": "https://own.test" };
    const { answer, headers } = await send({ preflight_continue: true }, { ...preflight(), responseHeaders: own });
    assert.equal(answer, undefined);
    assert.deepEqual(headers, own);
  });

  for (const [what, config, request, expected] of responses) {
    it(`sets the headers of a response: ${what}`, async () => {
      const { answer, headers } = await send(config, request);
      assert.equal(answer, undefined);
      assert.deepEqual(headers, expected);
    });
  }
});
