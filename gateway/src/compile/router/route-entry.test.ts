import assert from "node:assert/strict";
import { test } from "node:test";
import { compileRegex } from "@sluice/model/serving";
import fc from "fast-check";
import { exactPathOf } from "./route-entry.ts";

const rows: readonly (readonly [source: string, exact: string | null])[] = [
  ["/$", "/"],
  ["/foo$", "/foo"],
  ["/foo/$", "/foo/"],
  ["/v1\\.0/a\\-b$", "/v1.0/a-b"],
  ["/a\\$$", "/a$"],
  ["/a\\\\$", "/a\\"],
  ["/caf\u00e9/\u{1f600}$", "/caf\u00e9/\u{1f600}"],
  ["/foo", null],
  ["/a\\$", null],
  ["/v1.0$", null],
  ["/a\\d$", null],
  ["/a\\x41$", null],
  ["/a\\Qb\\E$", null],
  ["/a?$", null],
  ["/a|/b$", null],
  ["/(a)$", null],
  ["/(?i)a$", null],
  ["/a{2}$", null],
  ["/a$b$", null],
  ["/\ud83d$", null],
];

for (const [source, exact] of rows) {
  test(`the regular expression ${JSON.stringify(source)} ${exact === null ? "is not an exact path" : `matches only the path ${JSON.stringify(exact)}`}`, () => {
    assert.equal(exactPathOf(source), exact);
  });
}

/** Pieces of regular expressions; most of them are literal. */
const pieces = [
  "/",
  "a",
  "-",
  " ",
  "%2F",
  "\u00e9",
  "\u{1f600}",
  "\\.",
  "\\-",
  "\\$",
  "\\\\",
  "\\/",
  ".",
  "$",
  "\\d",
  "}",
];
const sources = fc
  .array(fc.oneof(fc.constantFrom(...pieces), fc.string({ maxLength: 2, unit: "binary" })), { maxLength: 6 })
  .map((parts) => `/${parts.join("")}$`);

test("an exact path is the only text that RE2 matches from start to end, and has no captures", () => {
  let count = 0;
  fc.assert(
    fc.property(sources, fc.string({ unit: "binary", minLength: 1, maxLength: 2 }), (source, more) => {
      const exact = exactPathOf(source);
      if (exact === null) return;
      count++;
      const regex = compileRegex(source).value ?? assert.fail(`${source} is invalid`);
      assert.deepEqual(regex.matchPrefix(exact), { length: exact.length, captures: Object.create(null) });
      const others = [`${exact}\n`, exact + more, more + exact, exact.slice(0, -1), exact.toUpperCase(), source];
      for (const other of others) assert.equal(regex.matchPrefix(other) !== undefined, other === exact);
    }),
    { numRuns: 5000 },
  );
  assert.ok(count > 500, `only ${count} exact paths`);
});

test("every text is an exact path when its punctuation is escaped", () => {
  fc.assert(
    fc.property(fc.string({ unit: "grapheme" }), (text) => {
      assert.equal(exactPathOf(`${text.replace(/[!-/:-@[-`{-~]/g, "\\$&")}$`), text);
    }),
  );
});
