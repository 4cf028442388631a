import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { RE2JS } from "re2js";
import { compileRegex } from "./regex.ts";
import { expandedSize } from "./regex-size.ts";

const sizes: readonly (readonly [source: string, atoms: number])[] = [
  ["", 1],
  ["abc", 4],
  ["a{3}", 4],
  ["a{2,5}", 6],
  ["a{2,}", 3],
  ["a{,3}", 6],
  ["a{0}", 2],
  ["(ab){4}", 13],
  ["(a{10}){10}", 111],
  ["(a{1,30}){1,30}", 931],
  ["[a-z{3}]{4}", 5],
  ["[]a]{4}", 5],
  ["[[:alpha:]]{4}", 5],
  ["\\{3}", 4],
  ["a*b+c?", 4],
  ["(a|b){3}", 13],
  ["(((", 4],
  ["[a", 3],
];

for (const [source, atoms] of sizes)
  test(`the pattern "${source}" has a size of ${atoms} when its repetitions are expanded`, () =>
    assert.equal(expandedSize(source), atoms));

test("a pattern with too many expanded repetitions is refused before it is compiled", (context) => {
  const compile = context.mock.method(RE2JS, "compile");
  const { violations } = compileRegex("(a{1,30}){1,30}".repeat(60));
  assert.match(String(violations?.[0]?.message), /^too large: \d+ instructions, at most 10000$/);
  assert.equal(compile.mock.callCount(), 0);
});

test("the compiled size of a pattern is at most four times the expanded size, plus four", () => {
  // RE2 refuses nested repetitions whose product is above 1000; 5 at each of 4 levels are 625.
  const { pattern } = fc.letrec<{ pattern: string }>((tie) => ({
    pattern: fc.oneof(
      { maxDepth: 4 },
      fc.constantFrom("a", "[b-d]", "\\.", "\\d", "[^x]"),
      fc.tuple(tie("pattern"), tie("pattern")).map(([first, second]) => first + second),
      fc.tuple(tie("pattern"), tie("pattern")).map(([first, second]) => `(${first}|${second})`),
      fc.tuple(tie("pattern"), fc.integer({ min: 1, max: 5 })).map(([inner, times]) => `(?:${inner}){${times}}`),
      fc.tuple(tie("pattern"), fc.constantFrom("*", "+", "?")).map(([inner, sign]) => `(?:${inner})${sign}`),
    ),
  }));
  fc.assert(
    fc.property(pattern, (source) => RE2JS.compile(source).programSize() <= 4 * expandedSize(source) + 4),
    { numRuns: 500 },
  );
});
