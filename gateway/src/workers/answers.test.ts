import assert from "node:assert/strict";
import { test } from "node:test";
import { Answers } from "./answers.ts";

test("one question is put for all who ask before it is answered", async () => {
  let put = 0;
  const answers = new Answers(() => put++, 10_000);
  const asked = [answers.ask(), answers.ask()];
  assert.equal(put, 1);
  answers.arrive();
  await Promise.all(asked);
  const again = answers.ask();
  assert.equal(put, 2);
  answers.arrive();
  await again;
});

test("who does not answer is waited for as long as there are signs, and no longer", async (context) => {
  context.mock.timers.enable({ apis: ["setTimeout"] });
  const answers = new Answers(() => undefined, 1000);
  let over = false;
  const asked = answers.ask().then(() => {
    over = true;
  });
  const pass = async (milliseconds: number) => {
    context.mock.timers.tick(milliseconds);
    await new Promise(setImmediate);
  };
  for (const _part of [1, 2, 3]) {
    answers.sign();
    await pass(1000);
    assert.equal(over, false);
  }
  await pass(999);
  assert.equal(over, false);
  await pass(1);
  assert.equal(over, true);
  await asked;
});
