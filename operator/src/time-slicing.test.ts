import assert from "node:assert/strict";
import { test } from "node:test";
import { runTimeSliced, runToCompletion, type TimeSliced } from "./time-slicing.ts";

function* counting(to: number, counted: string[] = []): TimeSliced<number> {
  for (let at = 1; at <= to; at++) {
    counted.push(`${at}`);
    yield;
  }
  return to;
}

test("long work lets other tasks run between its steps", async () => {
  const counted: string[] = [];
  let time = 0;
  const result = runTimeSliced(counting(20, counted), () => time++ * 3);
  setImmediate(() => counted.push("another"));
  assert.equal(await result, 20);
  assert.ok(counted.includes("another") && counted.indexOf("another") < counted.indexOf("20"), counted.join());
});

test("short work completes synchronously", async () => {
  const counted: string[] = [];
  const result = runTimeSliced(counting(100, counted), () => 0);
  assert.equal(counted.length, 100);
  assert.equal(await result, 100);
});

test("an error of a step rejects the promise of runTimeSliced(), and is thrown by runToCompletion()", async () => {
  // biome-ignore lint/correctness/useYield: it fails before any yield.
  function* failing(): TimeSliced<void> {
    throw new Error("broken");
  }
  await assert.rejects(runTimeSliced(failing()), /broken/);
  assert.throws(() => runToCompletion(failing()), /broken/);
});
