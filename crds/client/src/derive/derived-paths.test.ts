import assert from "node:assert/strict";
import { test } from "node:test";
import { checkDocument } from "@sluice/model";
import fc from "fast-check";
import { exactPaths, prefixPaths } from "./derived-paths.ts";

const long = "/a.".repeat(400);
const rows: Readonly<Record<string, readonly [exact: readonly string[], prefix: readonly string[], fault?: RegExp]>> = {
  "/": [["~/$"], ["/"]],
  "/v1.0/": [["~/v1\\.0/$"], ["~/v1\\.0$", "/v1.0/"]],
  "/a%20b": [["~/a b$"], ["~/a b$", "/a b/"]],
  "/caf%c3%a9": [["~/café$"], ["~/café$", "/café/"]],
  "/%61dmin": [["~/admin$"], ["~/admin$", "/admin/"]],
  "/a%2fb": [["~/a%2Fb$"], ["~/a%2Fb$", "/a%2Fb/"]],
  "/a//b/../c": [["~/a/c$"], ["~/a/c$", "/a/c/"]],
  "/50%": [["~/50%25$"], ["~/50%25$", "/50%25/"], /two hexadecimal digits/],
  a: [["~/a$"], ["~/a$", "/a/"], /must begin with/],
  [long]: [[`~${"/a\\.".repeat(166)}/a`], [`~${"/a\\.".repeat(166)}/a`], /longer than 1024/],
};

for (const [given, [exact, prefix, fault = /^undefined$/]] of Object.entries(rows))
  test(`the path ${given.slice(0, 20)} is derived in the form of requests, or has a fault`, () => {
    assert.deepEqual([exactPaths(given).paths, prefixPaths(given).paths], [exact, prefix]);
    assert.match(`${exactPaths(given).fault}`, fault);
    assert.match(`${prefixPaths(given).fault}`, fault);
  });

test("a Route can have the derived paths of every path", () => {
  const part = fc.oneof(fc.constantFrom("/", "%", "%2", "%25", "%C3", "%c3%a9", ".", "..", "~", "*"), fc.string());
  fc.assert(
    fc.property(fc.array(part, { maxLength: 8 }), fc.integer({ min: 1, max: 300 }), (parts, times) => {
      const given = `/${parts.join("")}`.repeat(times);
      for (const { paths } of [exactPaths(given), prefixPaths(given)]) {
        const routes = paths.map((path, index) => ({ name: `r${index}`, paths: [path] }));
        assert.deepEqual(checkDocument({ _format_version: "3.0", routes }).violations ?? [], []);
      }
    }),
  );
});
