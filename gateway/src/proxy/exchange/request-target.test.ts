import assert from "node:assert/strict";
import { test } from "node:test";
import { escapePath } from "@sluice/plugin-sdk";
import fc from "fast-check";
import { parseRequestTarget, type RequestTarget } from "./request-target.ts";

/** Parses a target that must be valid. */
function read(sent: string): RequestTarget {
  const target = parseRequestTarget(sent);
  assert.ok(typeof target === "object", `${sent}: ${target}`);
  return target;
}

const targets: readonly (readonly [rule: string, sent: string, path: string, query: string, wire: string])[] = [
  ["keeps a plain path", "/a/b", "/a/b", "", "/a/b"],
  ["keeps a trailing slash", "/a/", "/a/", "", "/a/"],
  ["separates the query", "/a?x=1&y=/../", "/a", "?x=1&y=/../", "/a"],
  ["preserves an empty query", "/a?", "/a", "?", "/a"],
  ["decodes unreserved characters", "/%61%2D%7e", "/a-~", "", "/a-~"],
  ["keeps reserved characters encoded, in upper case", "/a%2fb%3f%23%25", "/a%2Fb%3F%23%25", "", "/a%2Fb%3F%23%25"],
  [
    "decodes a space and a quotation mark, and escapes them when they are forwarded",
    "/a%20b%22",
    '/a b"',
    "",
    "/a%20b%22",
  ],
  [
    "escapes characters that a client may send but an upstream should not receive",
    "/a|b^c",
    "/a|b^c",
    "",
    "/a%7Cb%5Ec",
  ],
  ["reads UTF-8", "/caf%c3%a9", "/café", "", "/caf%C3%A9"],
  ["reads raw bytes as UTF-8", "/caf\u00c3\u00a9", "/café", "", "/caf%C3%A9"],
  ["encodes raw bytes of a query", "/a?q=\u00c3\u00a9&\u00ff", "/a", "?q=%C3%A9&%FF", "/a"],
  ["keeps encoded bytes that are not UTF-8", "/a%ff", "/a%FF", "", "/a%FF"],
  ["removes dot segments", "/a/./b/../c", "/a/c", "", "/a/c"],
  ["removes encoded dot segments", "/a/%2e%2E/c", "/c", "", "/c"],
  ["resolves no dot segment above the root", "/../../etc", "/etc", "", "/etc"],
  ["ends a path with a slash after a final dot segment", "/a/..", "/", "", "/"],
  ["merges slashes", "//a///b//", "/a/b/", "", "/a/b/"],
  ["keeps names that begin with a dot", "/.well-known/..a", "/.well-known/..a", "", "/.well-known/..a"],
  ["keeps an encoded percent sign that would form another escape", "/%252e%252E", "/%252e%252E", "", "/%252e%252E"],
  ["does not change a query", "/a?%&%2&%zz", "/a", "?%&%2&%zz", "/a"],
  ["escapes a backslash", "/a\\..\\b%5C", "/a\\..\\b\\", "", "/a%5C..%5Cb%5C"],
  [
    "decodes control characters, and escapes them when they are forwarded",
    "/a%09%0A%00/..%09/",
    "/a\t\n\0/..\t/",
    "",
    "/a%09%0A%00/..%09/",
  ],
  ["removes dot segments that are encoded in part", "/a/.%2e/%2E./b", "/b", "", "/b"],
  ["does not decode overlong UTF-8", "/a/%c0%ae%c0%ae/b", "/a/%C0%AE%C0%AE/b", "", "/a/%C0%AE%C0%AE/b"],
  [
    "keeps parameters of segments that are not dot segments",
    "/a;v=1/b;/..a;x",
    "/a;v=1/b;/..a;x",
    "",
    "/a;v=1/b;/..a;x",
  ],
];

for (const [rule, sent, path, query, wire] of targets) {
  test(`the gateway ${rule}: ${sent}`, () => {
    const target = read(sent);
    assert.equal(target.path, path);
    assert.equal(target.query, query);
    assert.equal(escapePath(target.path), wire);
  });
}

test("the path as sent is returned in ASCII, because it is used in headers", () => {
  assert.equal(read("/caf\u00c3\u00a9?\u00ff").sentPath, "/caf%C3%A9");
});

test("an absolute target is split into authority and path, and its path is / if it has none", () => {
  const target = read("http://Example.com:81/a?b");
  assert.equal(target.authority, "Example.com:81");
  assert.equal(target.path, "/a");
  assert.equal(read("http://example.com?b").path, "/");
});

for (const sent of ["*", "a/b", "", "ftp://example.com/", "/a#b?c", "/a?b#c", "/%#2e", "http://a#b"]) {
  test(`the gateway refuses the target ${JSON.stringify(sent)}`, () =>
    assert.equal(parseRequestTarget(sent), "badRequest"));
}

const brokenEscapes = ["/%", "/100%", "/%2", "/%zz", "/open/%2%65%2%65/users", "/open/%%32e%%32e/users", "/s%%32%66"];
for (const sent of [...brokenEscapes, "http://a/%2%65", "/%\u00e9", "/%2\u00b2e", "/%?2e"]) {
  test(`the gateway refuses the broken escape in ${JSON.stringify(sent)}`, () => {
    assert.equal(parseRequestTarget(sent), "brokenEscape");
  });
}

for (const sent of ["/a/..;/b", "/a/.;/b", "/a/..;v=1/b", "/a/%2e.;/b", "/..;", "/a/./..;x?y"]) {
  test(`the gateway refuses the dot segment with parameters in ${sent}: servlet containers drop the parameters`, () => {
    assert.equal(parseRequestTarget(sent), "dotSegmentParameter");
  });
}

const paths = fc
  .array(
    fc.constantFrom(
      ...[
        "/",
        "a",
        ".",
        "..",
        "%2e",
        "%2F",
        "%20",
        "%C3%A9",
        "|",
        "é",
        "-",
        ";",
        "%3B",
        "\\",
        "%5C",
        "\t",
        "%00",
        "%25",
      ],
      ...["%", "%2", "2", "5", "e", "f", "C", "%32", "%65", "%C0%AE"],
    ),
    { maxLength: 14 },
  )
  .map((parts) => Buffer.from(`/${parts.join("")}`, "utf8").toString("latin1"));

test("the wire form of a normalized path normalizes to the same path, and the wire form of a `plain` path is the path itself", () => {
  fc.assert(
    fc.property(paths, (sent) => {
      const target = parseRequestTarget(sent);
      if (typeof target === "string") return;
      assert.equal(read(escapePath(target.path)).path, target.path);
      if (target.plain) assert.equal(escapePath(target.path), target.path);
    }),
    { numRuns: 20_000 },
  );
});
