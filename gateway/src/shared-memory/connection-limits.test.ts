import assert from "node:assert/strict";
import { test } from "node:test";
import {
  type ConnectionLimits,
  createConnectionLimitsMemory,
  releaseWorkerConnections,
  sharedConnectionLimits,
} from "./connection-limits.ts";

function twoWorkers(limits: Partial<ConnectionLimits>) {
  const memory = createConnectionLimitsMemory(2, { maxConnections: 1000, maxConnectionsPerAddress: 0, ...limits });
  return { memory, one: sharedConnectionLimits(memory, 1), two: sharedConnectionLimits(memory, 2) };
}

test("workers share the connection slots, and the slots of a dead worker are free again", () => {
  const { memory, one, two } = twoWorkers({ maxConnections: 3 });
  const taken = [one, two, one, two, one].map((places) => places.acquire("::1"));
  assert.deepEqual(taken, [true, true, true, false, false]);
  two.release("::1");
  assert.deepEqual([one.acquire("::1"), two.acquire("::1")], [true, false]);
  releaseWorkerConnections(memory, 1);
  assert.deepEqual(
    [two, two, two, two].map((places) => places.acquire("::1")),
    [true, true, true, false],
  );
});

test("workers share the slots of an address too, and a refused connection occupies no global slot", () => {
  const { memory, one, two } = twoWorkers({ maxConnections: 5, maxConnectionsPerAddress: 2 });
  assert.deepEqual(
    [one.acquire("a"), two.acquire("a"), one.acquire("a"), two.acquire("a")],
    [true, true, false, false],
  );
  assert.deepEqual([two.acquire("b"), two.acquire("b"), one.acquire("b")], [true, true, false]);
  one.release("a");
  assert.deepEqual([two.acquire("a"), one.acquire("a")], [true, false]);
  releaseWorkerConnections(memory, 2);
  assert.deepEqual([one.acquire("b"), one.acquire("b"), one.acquire("b")], [true, true, false]);
});

test("the address of a connection can be counted after its slot was acquired", () => {
  const { one, two } = twoWorkers({ maxConnections: 3, maxConnectionsPerAddress: 1 });
  assert.deepEqual([one.acquire(null), two.acquire(null)], [true, true]);
  assert.deepEqual([one.countAddress("a"), two.countAddress("a"), two.countAddress("b")], [true, false, true]);
  assert.deepEqual([one.acquire("a"), one.acquire("c"), one.acquire("d")], [false, true, false]);
  one.uncountAddress("a");
  one.release(null);
  assert.deepEqual([two.acquire("a"), two.acquire("b")], [true, false]);
});

test("tables for 200 connections limit each of thousands of addresses that come and go", () => {
  const { one, two } = twoWorkers({ maxConnections: 200, maxConnectionsPerAddress: 1 });
  for (let turn = 0; turn < 200; turn++) {
    const addresses = Array.from({ length: 100 }, (_, at) => `10.0.${turn}.${at}`);
    for (const address of addresses) {
      assert.ok(one.acquire(address), address);
      assert.ok(!two.acquire(address), address);
    }
    for (const address of addresses) one.release(address);
  }
});
