import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { LatencyHistogram, mergeBuckets, percentileOf } from "./latency-histogram.ts";

const durations = fc.array(fc.double({ min: 0, max: 1_000_000, noNaN: true }), { minLength: 1, maxLength: 200 });

function bucketsOf(milliseconds: readonly number[]) {
  const histogram = new LatencyHistogram();
  for (const each of milliseconds) histogram.add(each);
  return histogram.buckets();
}

test("a percentile is not below the true one, and at most 25 % and two microseconds above it", () => {
  fc.assert(
    fc.property(durations, fc.double({ min: 0.01, max: 1, noNaN: true }), (given, share) => {
      const exact = given.toSorted((one, other) => one - other)[Math.ceil(given.length * share) - 1] ?? 0;
      const found = percentileOf(bucketsOf(given), share) ?? -1;
      assert.ok(found >= exact && found <= exact * 1.25 + 0.002, `${found} for ${exact}`);
    }),
    { numRuns: 500 },
  );
});

test("a percentile of durations below four microseconds is not below the true one", () => {
  for (const microseconds of [0, 1, 1.25, 1.9, 2, 3, 3.9, 4]) {
    const found = percentileOf(bucketsOf([microseconds / 1000]), 1) ?? -1;
    assert.ok(found >= microseconds / 1000 && found <= (microseconds + 2) / 1000, `${found} for ${microseconds}`);
  }
});

test("merged histograms are the histogram of all durations", () => {
  fc.assert(
    fc.property(durations, durations, (one, other) => {
      assert.deepEqual(mergeBuckets([bucketsOf(one), bucketsOf(other)]), bucketsOf([...one, ...other]));
    }),
  );
});

test("durations that are negative or longer than the last bucket are counted, and an empty histogram has no percentile", () => {
  assert.equal(bucketsOf([-1, 1e12]).length, 2);
  assert.equal(percentileOf([], 0.5), null);
});
