import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { readJson } from "./read-json.ts";

const bounds = { depth: 4, values: 20 };

test("readJson reads what JSON.parse reads", () => {
  fc.assert(
    fc.property(fc.json({ maxDepth: 3 }), (text) => {
      assert.deepEqual(readJson(text, { depth: 100, values: 10_000 }), { value: JSON.parse(text) });
    }),
  );
});

const refused: readonly (readonly [text: string, fault: unknown])[] = [
  ["{", "unparsable"],
  ["", "unparsable"],
  ['{"a":1,"a":2}', { twice: "a" }],
  ['{"a":1,"\\u0061":2}', { twice: "a" }],
  ['[{"b":{"a":1},"a":{"x" : 1 , "x" :2}}]', { twice: "x" }],
  ['{"__proto__":1,"__proto__":2}', { twice: "__proto__" }],
  ['{"q\\"":1,"q\\"":2}', { twice: 'q"' }],
  ["[[[[[]]]]]", { depth: 4 }],
  [`[${"1,".repeat(30)}1]`, { values: 20 }],
];
for (const [text, fault] of refused)
  test(`readJson refuses '${text.slice(0, 40)}'`, () => assert.deepEqual(readJson(text, bounds), { fault }));

const taken = ['{"a":{"a":1},"b":"a"}', '[{"a":1},{"a":2}]', '{"a":"\\\\","b":"{\\"a\\":1,"}', '["a","a"]', '"a"'];
for (const text of taken)
  test(`readJson accepts ${text}`, () => assert.deepEqual(readJson(text, bounds), { value: JSON.parse(text) }));
