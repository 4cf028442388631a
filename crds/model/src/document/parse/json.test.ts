import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { readPlainJson } from "./json.ts";
import { readAsYaml, readYaml } from "./yaml.ts";

const DEPTH = 100;

const left: readonly (readonly [what: string, text: string])[] = [
  ["YAML", "a: 1"],
  ["YAML in flow style", "{a: 1}"],
  ["a list", "[1]"],
  ["an empty text", ""],
  ["an incomplete object", '{"a": 1'],
  ["two members with the same name", '{"a": 1, "a": 2}'],
  ["two nested members with the same name", '{"a": [{"b": {"c": 1, "d": 2, "c": 3}}]}'],
  ["two differently spelled members with the same name", String.raw`{"a": 1, "\u0061": 2}`],
  ["two members with the same name and colons in their values", '{"a": ":", "a": "::", "b:": 1}'],
  ["a member called __proto__", '{"a": {"__proto__": {}}}'],
  ["a number that JavaScript cannot represent", '{"a": 1e999}'],
  ["a member whose name has a backslash", String.raw`{"\\": 1}`],
  ["a member without a name", '{"": 1}'],
  ["too many levels", `${'{"a":'.repeat(102)}1${"}".repeat(102)}`],
];
for (const [what, text] of left) {
  test(`readPlainJson leaves ${what} to the YAML parser`, () => assert.equal(readPlainJson(text, DEPTH), undefined));
}

const plain: readonly (readonly [what: string, text: string])[] = [
  ["an empty object", "{}"],
  ["whitespace around all tokens", ' \n{ "a" : [ 1 , 2.5 , -0.1e3 ] , "b" : null }\n'],
  ["colons, quotes and backslashes in strings", String.raw`{"a:": "\\\":\\", "b": ":", "c": "\\\\"}`],
  ["a hundred levels", `${'{"a":'.repeat(99)}1${"}".repeat(99)}`],
  ["a merge key in quotes", '{"<<": {"a": 1}, "b": 2}'],
];
for (const [what, text] of plain) {
  test(`readPlainJson reads ${what} like the YAML parser`, () => {
    const data = readPlainJson(text, DEPTH);
    assert.ok(data);
    assert.deepEqual(data, readAsYaml(text).value?.data);
  });
}

/** Strings made of a few different characters, so that different objects often have members of the same name. */
const text = fc.string({ minLength: 1, maxLength: 4, unit: fc.constantFrom(..."ab:\"\\{},[]'# \n\u00e9") });
const { tree: objects } = fc.letrec((tie) => ({
  tree: fc.dictionary(text, tie("value"), { maxKeys: 4, noNullPrototype: true }),
  value: fc.oneof(
    { depthSize: "small" },
    fc.constantFrom(null, true, 0, -1.5, 80, ""),
    text,
    fc.array(tie("value"), { maxLength: 3 }),
    tie("tree"),
  ),
}));

test("any object is read as it was written and as the YAML parser reads it, or left to the YAML parser", () => {
  fc.assert(
    fc.property(objects, fc.constantFrom(0, 2, "\t"), (data, indent) => {
      const written = JSON.stringify(data, null, indent);
      const read = readPlainJson(written, DEPTH);
      if (read !== undefined) assert.deepEqual(read, data);
      assert.deepEqual(readAsYaml(written).value?.data, data);
    }),
    { numRuns: 500 },
  );
});

test("escaped names that V8's JSON.parse confuses stay distinct", () => {
  const [one, other] = [String.raw`{"a": 1, "\\": 2}`, String.raw`{"a": 1, "\n": 2}`];
  for (const written of [one, other, one]) {
    const { value } = readYaml(written);
    assert.deepEqual(value?.data, readAsYaml(written).value?.data);
  }
});

test("the position of a member is also known for a text that was read as JSON", () => {
  const { value } = readYaml('{\n  "services": [\n    {"name": "a"}\n  ]\n}', { file: "f.json" });
  assert.deepEqual(value?.data, { services: [{ name: "a" }] });
  assert.deepEqual(value?.positionOf(["services", 0, "name"]), { file: "f.json", line: 3, column: 6 });
  assert.deepEqual(value?.positionOf([]), { file: "f.json", line: 1, column: 1 });
});

test("a name that is written with an escape is left to the YAML parser", () => {
  for (const name of ["\\", "\\a", "\\\\", 'a"', "a\n"])
    assert.equal(readPlainJson(JSON.stringify({ a: 1, [name]: 2 }), DEPTH), undefined, name);
  assert.deepEqual(readPlainJson(JSON.stringify({ a: "\\" }), DEPTH), { a: "\\" });
});
