import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { originRule } from "./origins.ts";

/** Each row ends with the origin in Access-Control-Allow-Origin; null: the response has no such header. */
const variants: readonly (readonly [
  what: string,
  origins: readonly string[],
  asked: string,
  answered: string | null,
])[] = [
  ["a single origin, for any requesting origin", ["https://a.test:8443"], "https://a.test:8443", "https://a.test:8443"],
  ["a single origin, for any requesting origin", ["https://a.test:8443"], "https://b.test", "https://a.test:8443"],
  ["a single host, for any requesting origin", ["a.test"], "https://a.test", "a.test"],

  [
    "an origin that equals one of several",
    ["http://a.test", "https://b.test:90"],
    "https://b.test:90",
    "https://b.test:90",
  ],
  [
    "one of several origins whose default port the request contains, and answers without the port",
    ["http://a.test", "http://b.test"],
    "http://a.test:80",
    "http://a.test",
  ],
  ["no origin with another scheme", ["http://a.test", "http://b.test"], "https://a.test", null],
  ["no origin with another port", ["http://a.test", "http://b.test"], "http://a.test:8080", null],
  ["no origin with a longer host", ["http://a.test", "http://b.test"], "http://a.test.evil.test", null],
  [
    "no origin if several hosts without a scheme are configured, as in Kong",
    ["a.test", "b.test"],
    "https://a.test",
    null,
  ],
  ["an origin with an app's scheme", ["app://local", "https://a.test"], "app://local", "app://local"],
  ["no null origin unless it is listed", ["http://a.test", "http://b.test"], "null", null],
  ["a null origin if it is listed", ["http://a.test", "null"], "null", "null"],
  ["an IPv6 address", ["http://[::1]:3000", "http://a.test"], "http://[::1]:3000", "http://[::1]:3000"],

  ["an origin whose host matches a regex without a colon", ["a\\.test"], "http://a.test:8000", "http://a.test:8000"],
  ["an origin whose host matches a regex without a colon", ["a\\.test"], "https://a.test", "https://a.test"],
  ["no origin whose host only begins with a match", ["a\\.test"], "http://a.test.evil.test", null],
  ["no origin whose host only ends with a match", ["a\\.test"], "http://evil-a.test", null],
  [
    "an origin with a subdomain that the regex includes",
    ["(.*\\.)?a\\.test"],
    "https://x.y.a.test",
    "https://x.y.a.test",
  ],
  ["no origin with another character in place of an escaped dot", ["a\\.test"], "http://aXtest", null],

  [
    "an origin that matches a regex with a colon",
    ["https://(.*\\.)?a\\.test:8000"],
    "https://x.a.test:8000",
    "https://x.a.test:8000",
  ],
  ["no origin with a scheme that the regex excludes", ["https://(.*\\.)?a\\.test:8000"], "http://x.a.test:8000", null],
  [
    "an origin with any scheme if the regex includes all schemes",
    ["(.*[./])?a\\.test:8000"],
    "https://a.test:8000",
    "https://a.test:8000",
  ],
  ["no origin with a port that the regex excludes", ["(.*[./])?a\\.test:8000"], "https://a.test:80", null],
  [
    "an origin that matches a regex with anchors",
    ["^http://(.*[.])?a\\.test(:(80|90))?$"],
    "http://a.test:80",
    "http://a.test",
  ],
  [
    "no origin that a regex with anchors excludes",
    ["^http://(.*[.])?a\\.test(:(80|90))?$"],
    "http://a.test:8000",
    null,
  ],
  [
    "no origin that only begins with an alternative of the regex",
    ["https://a\\.test|https://b\\.test"],
    "https://a.test.evil.test",
    null,
  ],
  [
    "an origin that matches a regex listed with other origins",
    ["https://b.test", "a\\.test"],
    "http://a.test",
    "http://a.test",
  ],
];

describe("originRule", () => {
  for (const [what, origins, asked, answered] of variants) {
    it(`allows ${what}: configured ${origins.join(" ")}, requested by ${asked}`, () => {
      const allowed = originRule(origins)(asked);
      assert.deepEqual(allowed, answered === null ? { kind: "none" } : { kind: "one", origin: answered });
    });
  }

  for (const origins of [null, [], ["*"]]) {
    it(`allows all origins if ${JSON.stringify(origins)} is configured`, () => {
      for (const asked of [undefined, "https://a.test"]) {
        assert.deepEqual(originRule(origins)(asked), { kind: "all", vary: false });
      }
    });
  }

  it("allows every requesting origin if * is listed with others, but no request without an origin", () => {
    const rule = originRule(["https://a.test", "*"]);
    assert.deepEqual(rule("https://b.test"), { kind: "all", vary: true });
    assert.deepEqual(rule(undefined), { kind: "none" });
  });

  it("matches an origin in time proportional to its length, whatever the pattern", () => {
    const rule = originRule(["(a+)+b\\.test"]);
    const started = performance.now();
    assert.deepEqual(rule(`https://${"a".repeat(8000)}`), { kind: "none" });
    assert.ok(performance.now() - started < 1000);
  });
});
