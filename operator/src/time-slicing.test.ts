import assert from "node:assert/strict";
import { test } from "node:test";
import { runTimeSliced, runToCompletion, type TimeSliced } from "./time-slicing.ts";

function* counting(to: number, told: string[] = []): TimeSliced<number> {
  for (let at = 1; at <= to; at++) {
    told.push(`${at}`);
    yield;
  }
  return to;
}

test("long work lets other tasks run between its steps", async () => {
  const told: string[] = [];
  let time = 0;
  const result = runTimeSliced(counting(20, told), () => time++ * 3);
  setImmediate(() => told.push("another"));
  assert.equal(await result, 20);
  assert.ok(told.includes("another") && told.indexOf("another") < told.indexOf("20"), told.join());
});

test("short work completes synchronously", async () => {
  const told: string[] = [];
  const result = runTimeSliced(counting(100, told), () => 0);
  assert.equal(told.length, 100);
  assert.equal(await result, 100);
});

test("an error thrown by a step rejects the result", async () => {
  // biome-ignore lint/correctness/useYield: it fails before any yield.
  function* failing(): TimeSliced<void> {
    throw new Error("broken");
  }
  await assert.rejects(runTimeSliced(failing()), /broken/);
  assert.throws(() => runToCompletion(failing()), /broken/);
});
