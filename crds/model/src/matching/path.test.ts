import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { normalizePath } from "./path.ts";

const cases: readonly (readonly [path: string, normal: string])[] = [
  ["/", "/"],
  ["", ""],
  ["/a/b", "/a/b"],
  ["/a/", "/a/"],
  ["//a///b//", "/a/b/"],
  ["/a/./b", "/a/b"],
  ["/a/.", "/a/"],
  ["/a/..", "/"],
  ["/a/b/..", "/a/"],
  ["/a/../../b", "/b"],
  ["/..", "/"],
  ["/.well-known/x", "/.well-known/x"],
  ["/a..b/c.", "/a..b/c."],
  ["/%61%7e", "/a~"],
  ["/%2e%2E/b", "/b"],
  ["/a%2fb", "/a%2Fb"],
  ["/%25%3f%23%5b", "/%25%3F%23%5B"],
  ["/a%20b", "/a b"],
  ["/%c3%a9", "/é"],
  ["/%f0%9f%98%80", "/😀"],
  ["/%ff%61", "/%FFa"],
  ["/%c3%28", "/%C3%28"],
  ["/%c0%af", "/%C0%AF"],
  ["/%ed%a0%80", "/%ED%A0%80"],
  ["./req", "req"],
  ["../req", "req"],
];

for (const [path, normal] of cases) {
  test(`the normal form of the path ${JSON.stringify(path)} is ${JSON.stringify(normal)}`, () => {
    assert.equal(normalizePath(path), normal);
    assert.equal(normalizePath(normal), normal);
  });
}

for (const path of ["/100%", "/%", "/%2", "/%zz", "/%2g", "/%%32e", "/%2%65%2%65/users", "/s%%32%66", "/%\u00ff%2e"]) {
  test(`the path ${JSON.stringify(path)} has no normal form: a "%" is not followed by two hexadecimal digits`, () => {
    assert.equal(normalizePath(path), null);
  });
}

const pieces = [
  "/",
  "a",
  ".",
  "..",
  "%",
  "2",
  "e",
  "E",
  "f",
  "%2",
  "%2e",
  "%2F",
  "%25",
  "%32",
  "%65",
  "%C3",
  "%A9",
  "%00",
];

test("normalizing a normal form changes nothing", () => {
  const paths = fc
    .array(fc.constantFrom(...pieces, ";", "\\", "\t"), { maxLength: 16 })
    .map((parts) => `/${parts.join("")}`);
  fc.assert(
    fc.property(paths, (path) => {
      const normal = normalizePath(path);
      if (normal !== null) assert.equal(normalizePath(normal), normal);
    }),
    { numRuns: 20_000 },
  );
});
