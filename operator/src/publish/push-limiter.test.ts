import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import { createConcurrencyLimiter } from "./push-limiter.ts";

test("a concurrency limiter runs as many calls concurrently as it has places, and further calls in order of arrival", async () => {
  const gate = createConcurrencyLimiter(2);
  const began: number[] = [];
  const ends: ((error?: Error) => void)[] = [];
  const results = [0, 1, 2, 3].map((at) =>
    gate(() => {
      began.push(at);
      return new Promise<number>((resolve, reject) => {
        ends[at] = (error) => (error ? reject(error) : resolve(at));
      });
    }),
  );
  await turn();
  assert.deepEqual(began, [0, 1]);
  ends[1]?.();
  await turn();
  assert.deepEqual(began, [0, 1, 2]);
  const failed = assert.rejects(results[0] ?? Promise.resolve(), /gone/);
  ends[0]?.(new Error("gone"));
  await failed;
  await turn();
  assert.deepEqual(began, [0, 1, 2, 3], "a failed call frees its place too");
  for (const end of ends) end();
  assert.deepEqual(await Promise.all(results.slice(1)), [1, 2, 3]);
  assert.equal(await gate(async () => 4), 4);
});
