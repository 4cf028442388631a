import assert from "node:assert/strict";
import { test } from "node:test";
import { compareParsers } from "./compare.ts";
import { readsAsNodeDoes, readsPiecesAsTheWhole } from "./differential.ts";
import type { Direction } from "./reading.ts";
import { stricterThanNode } from "./stricter.ts";

const SEED = 20_261_121;
const CASES = 5_000;
const directions: readonly Direction[] = ["requests", "responses"];

for (const direction of directions) {
  test(`the ${direction} of ${CASES} random connections are read as Node reads them, or refused by a documented rule`, () => {
    const { agreed } = readsAsNodeDoes({ direction, cases: CASES, seed: SEED });
    assert.ok(agreed > CASES / 2, `both accepted only ${agreed} messages: most of the generated messages are invalid`);
  });

  test(`random ${direction} give the same result, however they are split into pieces`, () => {
    readsPiecesAsTheWhole({ direction, cases: CASES / 5, seed: SEED });
  });
}

for (const [fault, { rule, example }] of Object.entries(stricterThanNode)) {
  test(`the parser refuses a message that Node accepts (${fault}): ${rule}`, () => {
    const direction = example.startsWith("HTTP/") || example.startsWith("\r\nHTTP/") ? "responses" : "requests";
    assert.deepEqual(compareParsers(example, { direction }), { difference: null, agreed: 0, stricter: fault });
  });
}
