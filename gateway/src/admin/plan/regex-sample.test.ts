/** Samples of regular expressions. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { compileRegex } from "@sluice/model";
import fc from "fast-check";
import { regexSample } from "./regex-sample.ts";

const rows: readonly (readonly [source: string, sample: string | null])[] = [
  ["/status$", "/status"],
  ["/v1\\.0/users/(?<id>\\d+)$", "/v1.0/users/1"],
  ["/(?:cart|basket)/[^/]+/items?", "/cart/a/items"],
  ["/[a-f0-9]{8}-[[:upper:]]{2,}/(?P<rest>.*)", "/aaaaaaaa-AA/a"],
  ["/files/[]x]/[\\]-]/\\w*?\\.(?i)(png|jpe?g)$", "/files/x/-/a.png"],
  ["(?i:/Shop)/\\x41\\pL{2}", "/Shop/Aaa"],
  ["/a{0}b", "/b"],
  ["/a(?:b(?:c|d)){2}", "/abcbc"],
  ["/a|/b", "/a"],
  ["/x\\b.", null],
  ["/[à-é]", null],
  ["/\\Qa.b\\E", null],
  ["/(?:[a-z]{100}){3}", null],
  ["/(?=a)", null],
];

for (const [source, sample] of rows) {
  test(`the sample of ${source} is ${sample ?? "none"}`, () => {
    assert.equal(regexSample(source), sample);
  });
}

const atom = fc.constantFrom("a", "/b", "\\.", "\\d", "[a-c]", "[^x]", ".", "\\w", "[[:digit:]_]", "é");
const { pattern } = fc.letrec<{ pattern: string; sequence: string; part: string }>((tie) => ({
  pattern: fc.array(tie("sequence"), { minLength: 1, maxLength: 3 }).map((all) => all.join("|")),
  sequence: fc.array(tie("part"), { minLength: 1, maxLength: 4 }).map((all) => all.join("")),
  part: fc
    .tuple(
      fc.oneof(
        { maxDepth: 2 },
        atom,
        tie("pattern").map((inner) => `(?:${inner})`),
        tie("pattern").map((inner) => `(${inner})`),
      ),
      fc.constantFrom("", "", "*", "+?", "?", "{2}", "{1,3}"),
    )
    .map((both) => both.join("")),
}));

test("every expression of literals, classes, groups and repetitions has a sample that it matches as a whole", () => {
  const check = (source: string) => {
    const sample = regexSample(`^(?:${source})$`);
    fc.pre(sample !== null || source.length < 40);
    assert.ok(sample !== null && compileRegex(source).value?.testWhole(sample), `${source}: ${sample}`);
  };
  fc.assert(fc.property(pattern, check), { numRuns: 100, seed: 20_261_129 });
});
