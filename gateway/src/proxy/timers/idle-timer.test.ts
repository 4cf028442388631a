import assert from "node:assert/strict";
import { test } from "node:test";
import { IdleTimer } from "./idle-timer.ts";

/** Blocks the event loop. */
function block(milliseconds: number): void {
  for (const end = performance.now() + milliseconds; performance.now() < end; );
}

const turn = (milliseconds = 0) => new Promise((resolve) => setTimeout(resolve, milliseconds));

test("an idle timer fires once after the delay of its last `start`, and not after `stop`", async () => {
  const alarms: number[] = [];
  const began = performance.now();
  const watchdog = new IdleTimer(() => alarms.push(performance.now() - began));
  watchdog.start(10);
  watchdog.stop();
  await turn(30);
  assert.deepEqual(alarms, []);
  watchdog.start(20);
  watchdog.start(60);
  await turn(150);
  assert.equal(alarms.length, 1);
  assert.ok((alarms[0] ?? 0) >= 89, `${alarms}`);
  watchdog.close();
});

test("an idle timer that is late because the event loop was blocked waits once until pending data is read", async () => {
  let alarms = 0;
  const watchdog = new IdleTimer(() => alarms++);
  // Begins in an immediate: before the next one, the event loop runs timers once and polls for I/O once.
  await new Promise(setImmediate);
  watchdog.start(10);
  block(600);
  await new Promise(setImmediate);
  assert.equal(alarms, 0, "pending data has not been read yet");
  block(600);
  await new Promise(setImmediate);
  assert.equal(alarms, 1, "pending data could have been read");
  watchdog.close();
});
