import assert from "node:assert/strict";
import { test } from "node:test";
import { readRequestWatch } from "@sluice/model";
import { RequestTaps } from "./request-taps.ts";

function watchOf(watch: string) {
  const { value } = readRequestWatch({ watch });
  assert.ok(value);
  return value;
}

const refusal = { id: "r", name: "noRoute", status: 404, request: null, peerAddress: "10.0.0.1", duration: 1 } as const;

test("a watch that is not read for ten seconds ends", () => {
  const taps = new RequestTaps();
  const now = performance.now();
  taps.read(watchOf("early"), now - 10_001);
  taps.read(watchOf("late"), now);
  taps.rejected(refusal);
  assert.equal(taps.read(watchOf("late"), now).requests.length, 1);
  assert.deepEqual(taps.read(watchOf("early"), now).requests, [], "it begins anew");
});

test("a watch records at most 500 requests between two reads, and counts the others", () => {
  const taps = new RequestTaps();
  taps.read(watchOf("a"));
  for (let count = 0; count < 520; count++) taps.rejected(refusal);
  const { requests, missed } = taps.read(watchOf("a"));
  assert.deepEqual([requests.length, missed], [500, 20]);
});

test("at most ten watches are open at a time", () => {
  const taps = new RequestTaps();
  for (let at = 0; at < 10; at++) assert.equal(taps.read(watchOf(`watch ${at}`)).is_full, false);
  assert.equal(taps.read(watchOf("one more")).is_full, true);
  assert.equal(taps.read(watchOf("watch 0")).is_full, false);
});
