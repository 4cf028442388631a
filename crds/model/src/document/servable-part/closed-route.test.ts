import assert from "node:assert/strict";
import { test } from "node:test";
import { closedRoute, literalPrefix } from "./closed-route.ts";

const table: readonly (readonly [source: string, prefix: string])[] = [
  ["/admin/(?!health)", "/admin/"],
  ["/admin/(?!health|live)x", "/admin/"],
  ["/a|/b", ""],
  ["/a[|]b", "/a"],
  ["/a(b|c)d", "/a"],
  ["/a[[:alpha:](]|/b", ""],
  ["/a[](]|/b", ""],
  [String.raw`/v1\.2\/x`, "/v1.2/x"],
  [String.raw`/a\d+`, "/a"],
  [String.raw`/a\(b|/c`, ""],
  ["/admin/?", "/admin"],
  ["/admin/*", "/admin"],
  ["/ab{2}", "/a"],
  ["/a+", "/"],
  ["/a$", "/a"],
  ["(?i)/admin", ""],
  [String.raw`/a\Q(\E|/b`, ""],
  ["/a(?# ( )|/b", ""],
  ["(?x)/a # (\n|/b", ""],
  ["/größe/😀?", "/größe/"],
];

for (const [source, prefix] of table) {
  test(`literalPrefix of ${JSON.stringify(source)} is ${JSON.stringify(prefix)}`, () => {
    assert.equal(literalPrefix(source), prefix);
  });
}

test("the closed form of a route matches the literal prefix of a refused regular expression, or every path if it has none", () => {
  const closed = closedRoute({ paths: [String.raw`~/v1\.2/(?=a)`, "~(?=a)"] }, [
    { path: ["paths", 0], message: "" },
    { path: ["paths", 1], message: "" },
  ]);
  assert.deepEqual(closed?.paths, [String.raw`~/v1\.2/`, "~/"]);
});
