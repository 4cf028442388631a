/** For any request: an upstream that resolves the forwarded path stays below the path that the route matched. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { escapePath } from "@sluice/plugin-sdk";
import fc from "fast-check";
import { parseRequestTarget } from "./request-target.ts";
import { upstreamPath } from "./upstream-path.ts";

const sent = fc
  .array(
    fc.constantFrom(
      ...[
        "/",
        "/",
        "a",
        ".",
        "..",
        ";",
        "%2e",
        ".%2e",
        "%2E%2e",
        "%2F",
        "%5C",
        "\\",
        "%3B",
        "%3b",
        "%09",
        "%0A",
        "%00",
      ],
      ...[
        "%",
        "%2",
        "%%",
        "%%32",
        "2",
        "e",
        "E",
        "5",
        "f",
        "%65",
        "%32",
        "%66",
        "%25",
        "%C0%AE",
        "%c0%af",
        "%E2%80%A4",
      ],
    ),
    { maxLength: 14 },
  )
  .map((parts) => parts.join(""));

/** Prefix paths of routes. */
const matched = fc.constantFrom("/open", "/open/", "/open/in", "/");
/** Route paths that are regular expressions: a match can end anywhere in a path, even within an escape. */
const expressions = [/^\/open[^/]*/, /^\/open\/.*%/, /^\/[^/]*\/?/, /^\/open\/?\.*/] as const;

/** Decodes unreserved characters (RFC 3986 section 6.2.2.2), and then removes dot segments (section 5.2.4). */
function resolveByRfc3986(path: string): string {
  let input = path.replace(/%([0-9a-f]{2})/gi, (escaped, hex: string) => {
    const character = String.fromCharCode(Number.parseInt(hex, 16));
    return /[A-Za-z0-9\-._~]/.test(character) ? character : escaped;
  });
  let output = "";
  while (input !== "") {
    if (input.startsWith("../")) input = input.slice(3);
    else if (input.startsWith("./")) input = input.slice(2);
    else if (input.startsWith("/./")) input = input.slice(2);
    else if (input === "/.") input = "/";
    else if (input.startsWith("/../") || input === "/..") {
      input = input === "/.." ? "/" : input.slice(3);
      output = output.slice(0, Math.max(0, output.lastIndexOf("/")));
    } else if (input === "." || input === "..") input = "";
    else {
      const end = input.indexOf("/", 1);
      output += end < 0 ? input : input.slice(0, end);
      input = end < 0 ? "" : input.slice(end);
    }
  }
  return output;
}

/** Like servlet containers: path parameters are removed before dot segments are resolved. */
const resolveByServlet = (path: string): string => resolveByRfc3986(path.replace(/;[^/]*/g, ""));

const resolvers = {
  "a WHATWG URL parser": (path: string) => new URL(`http://upstream${path}`).pathname,
  "an RFC 3986 parser": resolveByRfc3986,
  "a servlet container": resolveByServlet,
};

const joins = fc.record({
  base: fc.constantFrom("/", "/srv", "/srv/"),
  strip: fc.boolean(),
  handling: fc.constantFrom("v0" as const, "v1" as const),
});

/** The prefix that every forwarded path must keep. */
function root({ base, strip, handling }: Parameters<typeof upstreamPath>[0], prefix: string): string {
  // The service path `/srv/` may lose its slash.
  if (strip || prefix === "/") return base.length > 1 && base.endsWith("/") ? base.slice(0, -1) : base;
  return handling === "v1" || base.endsWith("/") ? base + prefix.slice(1) : base + prefix;
}

for (const [name, resolve] of Object.entries(resolvers)) {
  test(`a forwarded path, resolved by ${name}, stays below the matched prefix`, () => {
    fc.assert(
      fc.property(matched, sent, joins, (prefix, rest, join) => {
        const target = parseRequestTarget(prefix + rest);
        if (typeof target === "string" || !target.path.startsWith(prefix)) return;
        const parts = { ...join, path: target.path, matchedPath: prefix.length };
        const forwarded = escapePath(upstreamPath(parts));
        const resolved = resolve(forwarded);
        assert.ok(resolved.startsWith(root(parts, prefix)), `${forwarded} is ${resolved}`);
      }),
      { numRuns: 20_000 },
    );
  });

  test(`a forwarded path, resolved by ${name}, stays below the service's path when the match of a regular expression is stripped`, () => {
    fc.assert(
      fc.property(fc.constantFrom(...expressions), sent, joins, (expression, rest, join) => {
        const target = parseRequestTarget(`/open${rest}`);
        if (typeof target === "string") return;
        const matchedPath = expression.exec(target.path)?.[0].length ?? 0;
        const parts = { ...join, strip: true, path: target.path, matchedPath };
        const forwarded = escapePath(upstreamPath(parts));
        assert.ok(resolve(forwarded).startsWith(root(parts, "")), forwarded);
      }),
      { numRuns: 20_000 },
    );
  });
}
