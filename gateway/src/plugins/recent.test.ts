import assert from "node:assert/strict";
import { test } from "node:test";
import { Recent } from "./recent.ts";

function counted(size?: number) {
  const made: string[] = [];
  const recent = new Recent((text) => {
    made.push(text);
    return text.toUpperCase();
  }, size);
  return { recent, made };
}

test("what was asked for a short time ago is not made again", () => {
  const { recent, made } = counted();
  assert.deepEqual([recent.of("a"), recent.of("b"), recent.of("a")], ["A", "B", "A"]);
  assert.deepEqual(made, ["a", "b"]);
});

test("of many texts the ones that nobody asks for are forgotten, and those in use are not", () => {
  const { recent, made } = counted(10);
  for (let at = 0; at < 100; at++) {
    recent.of("used");
    recent.of(`once-${at}`);
  }
  assert.equal(made.filter((text) => text === "used").length, 1);
  recent.of("once-0");
  assert.equal(made.filter((text) => text === "once-0").length, 2);
});

test("a text of more than 256 characters is made each time", () => {
  const { recent, made } = counted();
  recent.of("x".repeat(257));
  recent.of("x".repeat(257));
  assert.equal(made.length, 2);
});
