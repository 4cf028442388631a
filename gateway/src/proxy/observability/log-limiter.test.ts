import assert from "node:assert/strict";
import { test } from "node:test";
import { LogLimiter } from "./log-limiter.ts";

test("a subject is logged once per period of ten seconds, with the number of lines about any subject that were suppressed before", () => {
  let now = 0;
  const limit = new LogLimiter(() => now);
  assert.deepEqual([limit.allow("a"), limit.allow("a"), limit.allow("a"), limit.allow("b")], [0, null, null, 2]);
  now = 9_999;
  assert.equal(limit.allow("a"), null);
  now = 10_000;
  assert.deepEqual([limit.allow("a"), limit.allow("a"), limit.allow("b")], [1, null, 1]);
});

test("many subjects cause at most 50 lines per period of ten seconds", () => {
  let now = 0;
  const limit = new LogLimiter(() => now);
  const lines = () =>
    Array.from({ length: 10_000 }, (_, index) => limit.allow(`${index}`)).filter((line) => line !== null);
  assert.equal(lines().length, 50);
  now = 10_000;
  assert.deepEqual(lines().slice(0, 2), [9_950, 0]);
});
