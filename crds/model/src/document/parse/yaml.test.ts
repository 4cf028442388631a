import assert from "node:assert/strict";
import { test } from "node:test";
import { readYaml } from "./yaml.ts";

const read = (text: string) => {
  const { value, violations } = readYaml(text, { file: "f.yaml" });
  if (violations !== undefined) assert.fail(JSON.stringify(violations));
  return value;
};

const faults = (text: string) =>
  (readYaml(text).violations ?? []).map(
    ({ path, message, position }) => `${position?.line}:${position?.column} ${path.join(".")} ${message}`,
  );

const readable: readonly [string, string, unknown][] = [
  ["block style", "a: 1\nb: [x, true, null, 1.5]\n", { a: 1, b: ["x", true, null, 1.5] }],
  ["JSON", '{"a": {"b": ["c"]}}', { a: { b: ["c"] } }],
  ["numeric names as strings", "80: x", { "80": "x" }],
  ["yes as a string, as in YAML 1.2", "a: yes", { a: "yes" }],
  ["aliases", "a: &x {b: 1}\nc: *x", { a: { b: 1 }, c: { b: 1 } }],
  ["an anchor that is defined again", "a: &x 1\nb: *x\nc: &x 2\nd: *x", { a: 1, b: 1, c: 2, d: 2 }],
  [
    "merge keys: a map's own members replace merged members, and earlier merged maps take precedence over later ones",
    "a: &a {x: 1, y: 1}\nb: &b {y: 2, z: 2}\nc: {<<: [*a, *b], x: 0}",
    { a: { x: 1, y: 1 }, b: { y: 2, z: 2 }, c: { x: 0, y: 1, z: 2 } },
  ],
  ["a quoted << as a name", '"<<": 1', { "<<": 1 }],
  ["a text that starts with a byte order mark", "\uFEFFa: 1", { a: 1 }],
  ["an empty text", "", null],
  ["members whose names JavaScript objects inherit", "constructor: 1\ntoString: 2", { constructor: 1, toString: 2 }],
];

for (const [what, text, data] of readable) {
  test(`readYaml reads ${what}`, () => assert.deepEqual(read(text).data, data));
}

const unreadable: readonly [string, string, readonly string[]][] = [
  [
    "broken syntax in the middle",
    "a: 1\nb:\n  - x\n c: 2\nd: 3\n",
    ["4:1  All mapping items must start at the same column"],
  ],
  ["an unclosed quote", 'a: "x\nb: 1\n', ['1:4  this " is not closed']],
  ["an unclosed quote in an unclosed bracket", "a: [x, 'y]\nb: 1\n", ["1:8  this ' is not closed"]],
  [
    "an unclosed bracket, and reports the position at which it was opened",
    "services:\n- name: a\n  routes:\n  - name: b\n    paths: [/b\n    methods: [GET]\n  - name: c\n",
    ["5:12  this [ is not closed: its ] is missing or not indented enough"],
  ],
  [
    "an unclosed bracket around closed brackets, and a bracket with the wrong closing bracket",
    "a: [[1, 2]\nb: {c: [1}\nd: 3\n",
    ["1:4", "2:8"].map((at) => `${at}  this [ is not closed: its ] is missing or not indented enough`),
  ],
  [
    "a missing bracket in JSON",
    '{"services": [{"name": "a", "tags": ["x", "y"}],\n "routes": []}\n',
    ["1:37  this [ is not closed: its ] is missing or not indented enough"],
  ],
  [
    "an unclosed bracket, and reports the errors before it and no errors after it",
    "a: 1\n b: 2\nc: [1\nd: 2\n e: 3\n",
    [
      "1:4  Nested mappings are not allowed in compact mappings",
      "1:4  Implicit keys need to be on a single line",
      "3:4  this [ is not closed: its ] is missing or not indented enough",
    ],
  ],
  ["two documents", "a: 1\n---\nb: 1\n", ["2:1  a file holds one document only"]],
  ["an alias without an anchor", "a: *x", ["1:4 a no anchor 'x' is defined before this alias"]],
  ["custom tags", "a: !env X", ["1:4  Unresolved tag: !env"]],
  [
    "numbers that JSON does not have",
    "a: .inf\nb: .nan",
    ["1:4 a expected a string, a number, a boolean or null", "2:4 b expected a string, a number, a boolean or null"],
  ],
  ["records as names", "? {a: 1}\n: 2", ["1:3  a member's name must be a string"]],
  ["a member called __proto__", "a:\n  __proto__: {b: 1}", ["2:3 a.__proto__ unknown field"]],
  ["<< with a string", "<<: x", ["1:1  << expects a record, or a list of records"]],
  [
    "an alias inside its own anchor",
    "a: &a [*a]",
    [`1:8 ${["a", ...Array(100).fill("0")].join(".")} nested more than 100 levels deep`],
  ],
  ["deep nesting", `a: ${"[".repeat(200_000)}`, ["1:104  nested more than 100 levels deep"]],
  ["a text above 32 MiB", `a: ${"x".repeat(32 * 1024 * 1024)}`, ["1:1  a document may have 33554432 bytes at most"]],
];

for (const [what, text, expected] of unreadable) {
  test(`readYaml refuses ${what}`, () => assert.deepEqual(faults(text), expected));
}

const duplicates: readonly [string, string, unknown, readonly string[]][] = [
  [
    "in flow style",
    "a: 1\nb: {c: 1, c: 2}\n",
    { a: 1, b: { c: 2 } },
    ["2:11 b.c duplicate key: this value replaces the one at 2:5, which is ignored"],
  ],
  [
    "in JSON",
    '{"a": 1,\n "a": 2}',
    { a: 2 },
    ["2:2 a duplicate key: this value replaces the one at 1:2, which is ignored"],
  ],
  [
    "that occurs three times",
    "a: 1\nb: 1\na: 2\na: 3\n",
    { a: 3, b: 1 },
    [
      "3:1 a duplicate key: this value replaces the one at 1:1, which is ignored",
      "4:1 a duplicate key: this value replaces the one at 3:1, which is ignored",
    ],
  ],
  [
    "whose first value has an anchor",
    "a: &x {b: 1}\na: 2\nc: *x\n",
    { a: 2, c: { b: 1 } },
    ["2:1 a duplicate key: this value replaces the one at 1:1, which is ignored"],
  ],
  [
    "in content that an alias repeats",
    "a: &x {b: 1, b: 2}\nc: *x\nd: {<<: *x}\n",
    { a: { b: 2 }, c: { b: 2 }, d: { b: 2 } },
    ["1:14 a.b duplicate key: this value replaces the one at 1:8, which is ignored"],
  ],
];

for (const [where, text, data, expected] of duplicates) {
  test(`the last value of a duplicate key ${where} is used, and each earlier value causes one warning with both positions`, () => {
    const { warnings, ...located } = read(text);
    assert.deepEqual(located.data, data);
    assert.deepEqual(
      warnings.map(
        ({ path, message, position }) => `${position?.line}:${position?.column} ${path.join(".")} ${message}`,
      ),
      expected,
    );
  });
}

test("if a key occurs twice, the position of a nested member is its position in the value that is used", () => {
  const { line, column } = read("a:\n  b: 1\na:\n  b: 2\n").positionOf(["a", "b"]);
  assert.deepEqual([line, column], [4, 3]);
});

test("readYaml refuses aliases that expand to more than a million values", () => {
  const levels = Array.from({ length: 9 }, (_, i) => `l${i + 1}: &l${i + 1} [${Array(9).fill(`*l${i}`).join(", ")}]`);
  const found = faults(["l0: &l0 [x, x, x, x, x, x, x, x, x]", ...levels].join("\n"));
  assert.equal(found.length, 1);
  assert.match(found[0] ?? "", /aliases expand to too many values$/);
});

test("readYaml reads a map of 20,000 members", () => {
  const text = Array.from({ length: 20_000 }, (_, i) => `k${i}: ${i}`).join("\n");
  assert.equal(Object.keys(read(text).data as object).length, 20_000);
});

test("positionOf returns the position of a member's name, of an item, or of the parent of a missing member", () => {
  const { positionOf } = read("a: &a\n  b:\n  - x\n  - c: 1\nd: *a\ne: {<<: *a}\n");
  const at = (...path: (string | number)[]) => {
    const { file, line, column } = positionOf(path);
    return `${file}:${line}:${column}`;
  };
  assert.equal(at(), "f.yaml:1:1");
  assert.equal(at("a", "b"), "f.yaml:2:3");
  assert.equal(at("a", "b", 0), "f.yaml:3:5");
  assert.equal(at("a", "b", 1, "c"), "f.yaml:4:5");
  assert.equal(at("a", "b", 1, "missing", "@entity"), "f.yaml:4:5");
  assert.equal(at("d", "b", 0), "f.yaml:3:5");
  assert.equal(at("e", "b", 0), "f.yaml:3:5");
});
