import assert from "node:assert/strict";
import { test } from "node:test";
import { WorkerCounts, workerCountsBytes } from "./worker-counts.ts";

function twoWorkers(names: number) {
  const memory = { buffer: new SharedArrayBuffer(workerCountsBytes(2, names)), key: new Uint32Array(4), workers: 2 };
  return [new WorkerCounts({ ...memory, owner: 1 }), new WorkerCounts({ ...memory, owner: 2 })] as const;
}

test("of two workers that compete for the last count, one succeeds: a count that the other worker undoes does not refuse it", (context) => {
  const [one, two] = twoWorkers(10);
  assert.equal(two.incrementBelow("a", 1), true);
  const { sub } = Atomics;
  // Stands for the other worker, which undoes its count after the first worker has added both counts up.
  const undoing = context.mock.method(Atomics, "sub", (words: Int32Array, at: number, amount: number) => {
    undoing.mock.restore();
    two.decrement("a");
    return sub(words, at, amount);
  });
  assert.equal(one.incrementBelow("a", 1), true);
  assert.deepEqual([one.count("a"), two.incrementBelow("a", 1)], [1, false]);
});

test("a name whose row another name has used is found again, and a full table refuses further names", () => {
  const [one] = twoWorkers(1);
  const names = Array.from({ length: 64 }, (_, at) => `name ${at}`);
  for (const name of names) assert.equal(one.incrementBelow(name, 1), true, name);
  assert.equal(one.incrementBelow("another", 1), false);
  one.decrement("name 30");
  assert.deepEqual([one.incrementBelow("another", 1), one.count("another"), one.count("name 30")], [true, 1, 0]);
  for (const name of names) assert.equal(one.count(name), name === "name 30" ? 0 : 1);
});
