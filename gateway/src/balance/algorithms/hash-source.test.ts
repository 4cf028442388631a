import assert from "node:assert/strict";
import { test } from "node:test";
import { balancingRequest, type TestRequestOptions, upstreamNamed } from "../testing.ts";
import { hashInputOf } from "./hash-source.ts";

const values: readonly (readonly [upstream: object, shown: TestRequestOptions, value: string | null])[] = [
  [{ hash_on: "none" }, {}, null],
  [{ hash_on: "consumer" }, { consumer: "c" }, "c"],
  [{ hash_on: "consumer" }, {}, null],
  [{ hash_on: "consumer", hash_fallback: "ip" }, { address: "10.0.0.7" }, "10.0.0.7"],
  [{ hash_on: "ip" }, { address: "10.0.0.7" }, "10.0.0.7"],
  [{ hash_on: "header", hash_on_header: "X-Key" }, { headers: { "x-key": "k" } }, "k"],
  [
    { hash_on: "header", hash_on_header: "X-Key", hash_fallback: "header", hash_fallback_header: "X-Other" },
    { headers: { "x-other": "o" } },
    "o",
  ],
  [{ hash_on: "path" }, { path: "/a/b" }, "/a/b"],
  [{ hash_on: "query_arg", hash_on_query_arg: "q" }, { query: "?a=1&q=z%20&q=b" }, "b,z "],
  [{ hash_on: "query_arg", hash_on_query_arg: "q" }, { query: "?qq=1" }, null],
  [
    { hash_on: "query_arg", hash_on_query_arg: "q", hash_fallback: "query_arg", hash_fallback_query_arg: "r" },
    { query: "?r=1" },
    "1",
  ],
  [{ hash_on: "uri_capture", hash_on_uri_capture: "user" }, { captures: { user: "ann" } }, "ann"],
  [
    { hash_on: "uri_capture", hash_on_uri_capture: "user", hash_fallback: "path" },
    { captures: { other: "x" }, path: "/p" },
    "/p",
  ],
  [{ hash_on: "cookie", hash_on_cookie: "sid" }, { headers: { cookie: "a=1; sid=x=y; b=2" } }, "x=y"],
];
for (const [upstream, shown, value] of values) {
  test(`with ${JSON.stringify(upstream)}, the hash input of ${JSON.stringify(shown)} is ${value}`, () => {
    const view = balancingRequest(shown);
    assert.equal(hashInputOf(upstreamNamed("u", upstream), view), value);
    assert.deepEqual(view.cookies, []);
  });
}

const cookies: readonly (readonly [cookie: object, shown: TestRequestOptions, attributes: RegExp])[] = [
  [{}, {}, /^; SameSite=Lax$/],
  [{}, { scheme: "https" }, /^; SameSite=Lax; Secure$/],
  [{ secure: true, same_site: "None" }, {}, /^; SameSite=None; Secure$/],
  [
    { domain: "example.com", max_age: 60, expires: 120 },
    {},
    /^; SameSite=Lax; Domain=example\.com; Max-Age=60; Expires=\w{3}, \d\d \w{3} \d{4} [\d:]{8} GMT$/,
  ],
];
for (const [cookie, shown, attributes] of cookies) {
  test(`the cookie ${JSON.stringify(cookie)} for ${JSON.stringify(shown)} has the attributes ${attributes}`, () => {
    const view = balancingRequest(shown);
    hashInputOf(upstreamNamed("u", { hash_on: "cookie", hash_on_cookie: "sid", _sluice: { cookie } }), view);
    const [, found = ""] = /^sid=[-0-9a-f]+; Path=\/; HttpOnly(.*)$/.exec(view.cookies[0] ?? "") ?? [];
    assert.match(found, attributes);
  });
}

test("a client without the cookie gets a cookie that gives its later requests the same hash input", () => {
  const upstream = upstreamNamed("u", { hash_on: "cookie", hash_on_cookie: "sid", hash_on_cookie_path: "/app" });
  const first = balancingRequest({ headers: { cookie: "side=1" } });
  const value = hashInputOf(upstream, first);
  assert.deepEqual(first.cookies, [`sid=${value}; Path=/app; HttpOnly; SameSite=Lax`]);
  const second = balancingRequest({ headers: { cookie: `sid=${value}` } });
  assert.equal(hashInputOf(upstream, second), value);
  assert.deepEqual(second.cookies, []);
});
