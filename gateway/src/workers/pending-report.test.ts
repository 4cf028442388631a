import assert from "node:assert/strict";
import { test } from "node:test";
import { PendingReport } from "./pending-report.ts";

test("callers that ask before the response share one request", async () => {
  let put = 0;
  const answers = new PendingReport(() => put++, 10_000);
  const asked = [answers.request(), answers.request()];
  assert.equal(put, 1);
  answers.complete();
  await Promise.all(asked);
  const again = answers.request();
  assert.equal(put, 2);
  answers.complete();
  await again;
});

test("a wait for a worker lasts as long as the worker shows activity, and no longer", async (context) => {
  context.mock.timers.enable({ apis: ["setTimeout"] });
  const answers = new PendingReport(() => undefined, 1000);
  let over = false;
  const asked = answers.request().then(() => {
    over = true;
  });
  const pass = async (milliseconds: number) => {
    context.mock.timers.tick(milliseconds);
    await new Promise(setImmediate);
  };
  for (const _part of [1, 2, 3]) {
    answers.markProgress();
    await pass(1000);
    assert.equal(over, false);
  }
  await pass(999);
  assert.equal(over, false);
  await pass(1);
  assert.equal(over, true);
  await asked;
});
