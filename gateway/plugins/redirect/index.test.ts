import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type FakeRequest, fakeContext, fakeExchange } from "../../../test/plugins/fake-exchange.ts";
import { configViolations, withConfigDefaults } from "../../../test/plugins/filled-configs.ts";
import { redirect } from "./index.ts";

const answerTo = (config: object, request: FakeRequest = {}) =>
  redirect
    .phases(withConfigDefaults("redirect", { location: "https://example.com", ...config }), fakeContext())
    .access?.(fakeExchange(request));

const kept = (location: string, request: FakeRequest) => answerTo({ location, keep_incoming_path: true }, request);

describe("redirect", () => {
  for (const [what, config, status] of [
    ["301 by default", {}, 301],
    ["the configured status", { status_code: 302 }, 302],
  ] as const) {
    it(`answers with ${what}, whatever the path`, () => {
      const location = "https://example.com/path?foo=bar";
      assert.deepEqual(answerTo({ location, ...config }, { path: "/status/200", query: "?a=1" }), {
        status,
        headers: { Location: location },
        body: "redirecting",
      });
    });
  }

  for (const [what, location, request, expected] of [
    [
      "a path and a query",
      "https://a.test/some_path?foo=bar",
      { path: "/status/200", query: "?keep=this" },
      "https://a.test/status/200?keep=this",
    ],
    ["a path without a query", "https://a.test/b?foo=bar#c", { path: "/d" }, "https://a.test/d#c"],
    ["a path that looks like a host", "https://a.test", { path: "//b.test/c" }, "https://a.test//b.test/c"],
    ["a path with a backslash", "https://a.test", { path: "/\\b.test" }, "https://a.test//b.test"],
    [
      "characters that a URL must not contain",
      "https://a.test",
      { path: "/\r\n?#é", query: "?\r\n é" },
      "https://a.test/%3F%23%C3%A9?%20%C3%A9",
    ],
    ["a location with a port and a user", "http://u:p@a.test:81/b", { path: "/c" }, "http://u:p@a.test:81/c"],
  ] as const) {
    it(`with keep_incoming_path, combines the location's host with the request's path and query: ${what}`, () => {
      assert.deepEqual(kept(location, request), {
        status: 301,
        headers: { Location: expected },
        body: "redirecting",
      });
    });
  }

  it("sends a path as it is, without the request's path and query", () => {
    assert.deepEqual(answerTo({ location: "/app1?a=b", status_code: 302 }, { path: "/", query: "?x=1" }), {
      status: 302,
      headers: { Location: "/app1?a=b" },
      body: "redirecting",
    });
  });

  it("sends the location's characters above ASCII as UTF-8 bytes", () => {
    assert.deepEqual(answerTo({ location: "https://a.test/\u00e9" }), {
      status: 301,
      headers: { Location: "https://a.test/\u00c3\u00a9" },
      body: "redirecting",
    });
  });

  it("sends the text of its response to a gRPC client as the gRPC message", () => {
    assert.deepEqual(answerTo({}, { headers: { "content-type": "application/grpc+proto" } }), {
      status: 301,
      headers: { Location: "https://example.com" },
      message: "redirecting",
    });
  });

  it("has Kong's defaults", () => {
    const location = "https://example.com";
    assert.deepEqual(withConfigDefaults("redirect", { location }), {
      status_code: 301,
      location,
      keep_incoming_path: false,
    });
  });

  for (const [config, violation] of [
    [{ status_code: 99 }, "status_code: value should be between 100 and 599"],
    [{ status_code: 600 }, "status_code: value should be between 100 and 599"],
    [{ status_code: "abcd" }, "status_code: expected an integer"],
    [{ location: undefined }, "location: required field missing"],
    [{ location: "definitely_not_a_url" }, "location: missing host in url"],
    [{ location: "/path", keep_incoming_path: true }, "location: missing host in url"],
    [{ location: "/\\a.test/path" }, "location: missing host in url"],
    [{ location: "//a.test/path" }, "location: missing scheme in url"],
    [{ location: "https:///path" }, "location: missing host in url"],
    [
      { location: "https://a b/", keep_incoming_path: true },
      "location: could not parse url. its path cannot be replaced",
    ],
    [{ keep_incoming_path: "invalid" }, "keep_incoming_path: expected a boolean"],
  ] as const) {
    it(`refuses the config ${JSON.stringify(config)}`, () => {
      assert.deepEqual(configViolations("redirect", { location: "https://example.com", ...config }), [violation]);
    });
  }
});
