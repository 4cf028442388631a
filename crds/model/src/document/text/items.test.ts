import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { readAsYaml, readYaml } from "../parse/yaml.ts";
import { divideText } from "./items.ts";

const head = '_format_version: "3.0"\n';

const divided: readonly (readonly [
  what: string,
  text: string,
  items: readonly (readonly string[])[],
  head?: string,
])[] = [
  ["unindented lists", `${head}services:\n- name: a\n- name: b\n`, [["- name: a\n", "- name: b\n"]]],
  [
    "indented lists with comments, blank lines and Windows line endings",
    `---\n${head}services: # all\n  # of a\n  - name: a\r\n    # in a\r\n\r\n  - name: b\r\n# of routes\nroutes:\n- name: r\n`,
    [["  - name: a\r\n    # in a\r\n\r\n", "  - name: b\r\n# of routes\n"], ["- name: r\n"]],
    `---\n${head}services: # all\n  # of a\nroutes:\n`,
  ],
  [
    "a multi-line string that looks like items",
    `${head}_comment: |\n  services:\n  - no\nservices:\n- name: |\n    - no\n  host: b`,
    [["- name: |\n    - no\n  host: b"]],
    `${head}_comment: |\n  services:\n  - no\nservices:\n`,
  ],
  [
    "members that are not lists of entities, before, between and after the lists",
    `_info:\n  select_tags:\n  - t\nservices:\n- name: a\n_ignore:\n- x\nroutes:\n- name: r\nplugins: []\n`,
    [["- name: a\n"], ["- name: r\n"]],
    "_info:\n  select_tags:\n  - t\nservices:\n_ignore:\n- x\nroutes:\nplugins: []\n",
  ],
];

for (const [what, text, items, rest] of divided) {
  test(`divideText divides a text into its items: ${what}`, () => {
    const found = divideText(text);
    assert.deepEqual(
      found?.lists.map(({ starts, end }) => starts.map((start, at) => text.slice(start, starts[at + 1] ?? end))),
      items,
    );
    if (rest !== undefined) assert.equal(found?.head, rest);
  });
}

const whole: readonly (readonly [what: string, text: string])[] = [
  ["JSON", '{"_format_version": "3.0"}'],
  ["quoted names", `${head}"services":\n- name: a\n`],
  ["a duplicate list", `${head}services:\n- name: a\nservices:\n- name: b\n`],
  ["several documents", `${head}services:\n- name: a\n---\n${head}`],
  ["a directive", `%YAML 1.2\n---\n${head}`],
  ["dashes in different columns", `${head}services:\n  - name: a\n - name: b\n`],
  ["a record where a list is expected", `${head}services:\n  a:\n    host: b\n`],
  ["a byte order mark", `\uFEFF${head}services:\n- name: a\n`],
  ["a tab before an item", `${head}services:\n- name: a\n\t- name: b\n`],
];

for (const [what, text] of whole) {
  test(`divideText does not divide a text that needs more than a line-by-line scan: ${what}`, () =>
    assert.equal(divideText(text), null));
}

/** Makes a text long enough to be read in parts. Its items are few and long, because every item takes time to read. */
const filler = Array.from(
  { length: 30 },
  (_, at) => `- username: consumer-${at}\n  custom_id: ${"x".repeat(9000)}\n`,
).join("");

const item = fc.constantFrom(
  "- name: a\n",
  "- {name: b, tags: [x, y]}\n",
  "- name: c\n  tags:\n  - t\n  # comment\n\n",
  "- name: d\n  routes:\n  - paths: [/a]\n    headers: {x: [y]}\n",
  "- name: |\n    text\n    - no item\n  host: e\n",
  '- name: "f\n    g"\n',
  "- name: 'h'\n# at the margin\n",
  "-\n  name: i\n",
  "- &anchor {name: j}\n",
  "- <<: *anchor\n  host: k\n",
  "- name: l\n  name: m\n",
  "- [not, closed\n",
  "- name: n: o\n",
  '- name: "p\n- q"\n',
  "- - r\n",
  "- null\n",
);

test("reading a text item by item gives the same result as reading the whole text", () => {
  fc.assert(
    fc.property(fc.array(item, { maxLength: 6 }), fc.array(item, { maxLength: 6 }), (services, routes) => {
      const text = `${head}services:\n${services.join("")}routes:\n${routes.join("")}consumers:\n${filler}`;
      const [read, expected] = [readYaml(text), readAsYaml(text)];
      assert.deepEqual(read.violations, expected.violations);
      assert.deepEqual(read.value?.data, expected.value?.data);
    }),
    { numRuns: 40 },
  );
});
