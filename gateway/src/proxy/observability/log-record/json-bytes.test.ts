import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { JsonBytes } from "./json-bytes.ts";

const output = new JsonBytes();

function written(write: () => void): string {
  output.clear();
  write();
  return output.toString();
}

test("strings are written as JSON, whatever characters they have", () => {
  const units = fc.constantFrom(...'aZ09 ~/\\"\n\t\u007f\u0000é€😀', "\ud800");
  fc.assert(
    fc.property(fc.string({ unit: units }), (text) => {
      assert.equal(
        written(() => output.string(text)),
        JSON.stringify(text),
      );
    }),
  );
});

for (const number of [0, 9, 10, 200, 999_999_999, 1_000_000_000, 1_796_043_228_478, Number.MAX_SAFE_INTEGER, -1]) {
  test(`the number ${number} is written with all its digits`, () => {
    assert.equal(
      written(() => output.number(number)),
      String(number),
    );
  });
}

const lines: readonly (readonly [text: string, start: number, end: number, content: string])[] = [
  ["value\r\nnext: 1\r\n", 0, 5, "value"],
  ["a: value\r\n", 3, 8, "value"],
  ["\r\n", 0, 0, ""],
  ['with "quotation marks"\r\n', 0, -1, ""],
  ["with \\\r\n", 0, -1, ""],
  ["\u00e9\r\n", 0, -1, ""],
  ["no end", 0, -1, ""],
];

for (const [text, start, end, content] of lines) {
  test(`the line ${JSON.stringify(text.slice(start))} is written as ${JSON.stringify(content)}`, () => {
    let found = 0;
    const all = written(() => {
      found = output.line(text, start);
    });
    assert.deepEqual([found, all], [end, content]);
  });
}

test("text of any length is written, and what was written before is kept", () => {
  for (const length of [1, 20_000, 300_000, 1]) {
    const [long, bytes] = ["x".repeat(length), Buffer.from("€".repeat(length))];
    const all = written(() => {
      output.text(long);
      output.piece(bytes);
      output.string(long);
      output.repeat(0, length);
    });
    assert.ok(all === `${long}${bytes}"${long}"${long}`, `the text of ${length} characters differs`);
  }
});
