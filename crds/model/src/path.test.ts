import assert from "node:assert/strict";
import { test } from "node:test";
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
  ["/100%", "/100%"],
  ["/%zz", "/%zz"],
  ["./req", "req"],
  ["../req", "req"],
];

for (const [path, normal] of cases) {
  test(`writes the path ${JSON.stringify(path)} as ${JSON.stringify(normal)}`, () => {
    assert.equal(normalizePath(path), normal);
    assert.equal(normalizePath(normal), normal);
  });
}
