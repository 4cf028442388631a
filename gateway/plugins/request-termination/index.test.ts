import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type FakeExchangeOptions, fakeContext, fakeExchange } from "../../../test/plugins/fake-exchange.ts";
import { configViolations, filledRequestTermination } from "../../../test/plugins/filled-configs.ts";
import { MAX_ECHOED_BODY } from "./echo.ts";
import { requestTermination } from "./index.ts";
import type { RequestTerminationConfig } from "./schema.ts";

type Config = Partial<RequestTerminationConfig>;

function send(config: Config, options: FakeExchangeOptions = {}) {
  const plugin = requestTermination.phases({ ...filledRequestTermination, ...config }, fakeContext());
  return plugin.access?.(fakeExchange(options));
}

async function echoed(options: FakeExchangeOptions, config: Config = {}) {
  const response = await send({ echo: true, ...config }, options);
  assert.ok(response?.body !== undefined);
  return { ...response, json: JSON.parse(String(response.body)) };
}

const json = { "Content-Type": "application/json; charset=utf-8" };
const page = "<h1>Closed</h1>";

const responses: readonly (readonly [what: string, config: Config, response: object])[] = [
  ["503 by default", {}, { status: 503, headers: json, body: '{"message":"Service unavailable"}' }],
  [
    "the default message of a status",
    { status_code: 404 },
    { status: 404, headers: json, body: '{"message":"Not found"}' },
  ],
  [
    "the configured message",
    { status_code: 406, message: 'No "tea"' },
    { status: 406, headers: json, body: String.raw`{"message":"No \"tea\""}` },
  ],
  ["an empty body for a status without a default message", { status_code: 204 }, { status: 204, body: "" }],
  ["the configured body", { body: page }, { status: 503, body: page }],
  [
    "the configured body with its type",
    { status_code: 451, body: page, content_type: "text/html" },
    { status: 451, body: page, headers: { "Content-Type": "text/html" } },
  ],
  [
    "a Content-Type whose line break is escaped",
    { body: page, content_type: "text/html\r\nX: y" },
    { status: 503, body: page, headers: { "Content-Type": "text/html%0D%0AX: y" } },
  ],
];

const grpc = { headers: { "content-type": "application/grpc+proto" } };

const triggers: readonly (readonly [what: string, trigger: string, request: FakeExchangeOptions, ends: boolean])[] = [
  ["neither the header nor the parameter", "x-end", {}, false],
  ["the header", "X-End", { headers: { "x-end": "no" } }, true],
  ["the header with dashes", "x_end", { headers: { "x-end": "1" } }, true],
  ["an empty header", "x-end", { headers: { "x-end": "" } }, true],
  ["the parameter", "x-end", { query: "?a=1&x-end=no" }, true],
  ["the parameter without a value", "x-end", { query: "?x-end" }, true],
  ["the escaped parameter", "x-end", { query: "?x%2Dend=1" }, true],
  ["the parameter in another letter case", "x-end", { query: "?X-End=1" }, false],
  ["a longer parameter", "x-end", { query: "?x-end2=1&b=x-end" }, false],
  ["a broken escape in the query", "x-end", { query: "?%zz&%" }, false],
];

const both = "message cannot be used with content_type or body";

const refused: readonly (readonly [config: object, path: string, message: string])[] = [
  [{ status_code: "abcd" }, "status_code", "expected an integer"],
  [{ status_code: 99 }, "status_code", "value should be between 100 and 599"],
  [{ status_code: 600 }, "status_code", "value should be between 100 and 599"],
  [{ message: "error", body: "test" }, "", both],
  [{ message: "error", body: "test", content_type: "text/html" }, "", both],
  [{ message: "error", content_type: "text/html" }, "", both],
  [{ content_type: "text/html" }, "", "content_type requires a body"],
  [{ echo: true, body: "test", content_type: "text/html" }, "", "echo cannot be used with content_type and body"],
  [{ echo: true, body: "test" }, "", "echo cannot be used with content_type and body"],
  [{ trigger: "a b" }, "trigger", "bad header name 'a b', allowed characters are A-Z, a-z, 0-9, '_', and '-'"],
];

describe("request-termination", () => {
  for (const [what, config, response] of responses) {
    it(`answers with ${what}`, () => assert.deepEqual(send(config), response));
  }

  it("sends its body or message to a gRPC client as the gRPC message", () => {
    assert.deepEqual(send({}, grpc), { status: 503, message: "Service unavailable" });
    assert.deepEqual(send({ body: "closed", echo: false }, grpc), { status: 503, message: "closed" });
    assert.deepEqual(send({ status_code: 418, echo: true }, grpc), { status: 418, message: "" });
  });

  for (const [what, trigger, request, ends] of triggers) {
    it(`${ends ? "ends" : "forwards"} a request with ${what} if the trigger is ${trigger}`, () => {
      assert.equal(send({ trigger }, request) !== undefined, ends);
    });
  }

  it("echoes the request", async () => {
    const {
      status,
      headers,
      json: echo,
    } = await echoed(
      {
        method: "POST",
        path: "/users",
        query: "?hello=there&flag&empty=&a=1&a=2&__proto__=3",
        headers: { host: "LOCALHOST:8000", "X-Twice": ["1", "2"], "x-name": Buffer.from("é").toString("latin1") },
        body: "cool body",
        pathCaptures: { parameter: "users" },
      },
      { status_code: 404 },
    );
    assert.deepEqual({ status, headers }, { status: 404, headers: json });
    assert.deepEqual(Object.keys(echo), ["message", "request", "matched_route", "matched_service"]);
    assert.equal(echo.message, "Not found");
    assert.equal(
      JSON.stringify(echo.request.query),
      '{"hello":"there","flag":true,"empty":"","a":["1","2"],"__proto__":"3"}',
    );
    const { query, ...rest } = echo.request;
    assert.deepEqual(rest, {
      scheme: "http",
      host: "localhost",
      port: 8000,
      headers: { host: "LOCALHOST:8000", "x-twice": ["1", "2"], "x-name": "é" },
      raw_body: "cool body",
      method: "POST",
      path: "/users",
      uri_captures: { named: { parameter: "users" } },
    });
    assert.deepEqual(Object.keys(echo.matched_route), ["id", "name"]);
    assert.deepEqual(Object.keys(echo.matched_service), ["id", "name"]);
  });

  it("echoes a request without a service, and leaves out a body that is too long", async () => {
    const { json: echo } = await echoed({ service: null, body: "x".repeat(MAX_ECHOED_BODY + 1) });
    assert.equal("matched_service" in echo, false);
    assert.equal("raw_body" in echo.request, false);
  });

  it("does not mistake an inherited property for the query parameter of the trigger", () => {
    assert.equal(send({ trigger: "constructor" }, { query: "?a=1" }), undefined);
  });

  for (const [config, path, message] of refused) {
    it(`refuses ${JSON.stringify(config)}: ${message}`, () => {
      assert.deepEqual(configViolations("request-termination", config), [`${path}: ${message}`]);
    });
  }

  it("accepts a body with a content type, a body alone, a message, and an echo with a trigger", () => {
    const accepted = [
      { content_type: "text/html", body: page },
      { body: page },
      { message: "m" },
      { echo: true, trigger: "x" },
    ];
    for (const config of accepted) assert.deepEqual(configViolations("request-termination", config), []);
  });
});
