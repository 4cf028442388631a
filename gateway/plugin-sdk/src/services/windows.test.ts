import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Period } from "./counters.ts";
import { secondsUntilReset, windowOf } from "./windows.ts";

const at = Date.parse("2024-02-29T13:45:50.123Z");

const windows: readonly [Period, string, string, number][] = [
  ["second", "2024-02-29T13:45:50Z", "2024-02-29T13:45:51Z", 1],
  ["minute", "2024-02-29T13:45:00Z", "2024-02-29T13:46:00Z", 10],
  ["hour", "2024-02-29T13:00:00Z", "2024-02-29T14:00:00Z", 14 * 60 + 10],
  ["day", "2024-02-29T00:00:00Z", "2024-03-01T00:00:00Z", (10 * 60 + 14) * 60 + 10],
  ["month", "2024-02-01T00:00:00Z", "2024-03-01T00:00:00Z", 86_400 + (10 * 60 + 14) * 60 + 10],
  ["year", "2024-01-01T00:00:00Z", "2025-01-01T00:00:00Z", 305 * 86_400 + (10 * 60 + 14) * 60 + 10],
];

describe("the windows of rate-limiting", () => {
  for (const [period, start, end, reset] of windows) {
    it(`are aligned to the UTC calendar, and secondsUntilReset counts to the end of their nominal length: ${period}`, () => {
      const window = windowOf(period, at);
      assert.deepEqual(window, { start: Date.parse(start), end: Date.parse(end) });
      assert.equal(secondsUntilReset(period, { start: window.start, now: at }), reset);
      assert.deepEqual(windowOf(period, window.end).start, window.end, "the next window begins where this one ends");
      assert.deepEqual(windowOf(period, window.end - 1), window);
    });
  }

  it("are reported to end as if a month had 30 days, but in no less than a second", () => {
    const lastDay = Date.parse("2024-01-31T12:00:00Z");
    const { start } = windowOf("month", lastDay);
    assert.equal(secondsUntilReset("month", { start, now: lastDay }), 1);
  });
});
