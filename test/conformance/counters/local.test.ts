import assert from "node:assert/strict";
import { it } from "node:test";
import { slidingCounters } from "../../../gateway/src/counters/sliding-windows.ts";
import { ThreadBuckets } from "../../../gateway/src/counters/thread-buckets.ts";
import { ThreadCounters } from "../../../gateway/src/counters/thread-counters.ts";
import { filledRateLimiting as filled } from "../../plugins/filled-configs.ts";
import { boundedCountersSuite } from "./bounded.ts";
import { bucketsSuite } from "./buckets.ts";
import { costsSuite } from "./costs.ts";
import { slidingCountersSuite } from "./sliding.ts";
import { counter, countersSuite } from "./suite.ts";

countersSuite("local counters", async () => {
  const counters = new ThreadCounters();
  return { counters, config: filled, held: async () => counters.size };
});

costsSuite("the headers of rate-limiting with policy local", async () => ({
  counters: new ThreadCounters(),
  options: { policy: "local" },
}));

bucketsSuite("local buckets", async () => ({ counters: new ThreadCounters(), config: filled }));

slidingCountersSuite("local counters with sliding windows", async () => ({
  counters: slidingCounters(new ThreadCounters()),
  config: filled,
}));

boundedCountersSuite("full local counters", (capacity) => [new ThreadCounters({ capacity })]);

it("local counters do not exceed their capacity: the oldest counter of the fullest window is dropped", () => {
  let dropped = 0;
  const onReplace = () => {
    dropped += 1;
  };
  const counters = new ThreadCounters({ capacity: 3, onReplace });
  const hour = counter({ period: "hour" });
  const minutes = [counter(), counter(), counter()].map((each) => ({ ...each, windowStart: 0, expires: 60_000 }));
  for (const each of [hour, ...minutes]) counters.incrementBelowLimit([each]);
  assert.equal(counters.size, 3);
  assert.equal(dropped, 1);
  assert.deepEqual(counters.incrementBelowLimit([hour]).counts, [2], "the window that was not flooded continues");
  assert.deepEqual(
    counters.incrementBelowLimit([minutes[0] ?? hour]).counts,
    [1],
    "the oldest counter starts again at zero",
  );
});

it("replacing a local counter takes less than eight times as long as adding one", () => {
  const capacity = 100_000;
  const counters = new ThreadCounters({ capacity });
  const fill = () => {
    const flood = Array.from({ length: capacity }, () => counter({ period: "day" }));
    const window = { windowStart: 0, expires: Number.MAX_SAFE_INTEGER };
    const from = performance.now();
    for (const one of flood) counters.incrementBelowLimit([{ ...one, ...window }]);
    return performance.now() - from;
  };
  const added = fill();
  const replaced = Math.min(fill(), fill());
  assert.ok(replaced < 8 * added, `replacing took ${replaced} ms, adding took ${added} ms`);
});

it("local buckets that are empty are dropped while new ones are added", () => {
  let now = Date.parse("2026-01-01T00:00:00Z");
  const buckets = new ThreadBuckets({ capacity: 1_000_000 });
  for (let at = 0; at < 10_000; at++) {
    now += 10;
    buckets.fill([{ name: `${at}`, scope: "-:-:-", period: "second", interval: 1000, burst: 0 }], now);
  }
  assert.ok(buckets.size < 1000, `${buckets.size} buckets are stored, of which 100 are not empty`);
});

it("local buckets do not exceed their capacity: the oldest bucket of the instance with the most buckets is dropped", () => {
  const buckets = new ThreadBuckets({ capacity: 3 });
  const named = (name: string, scope: string) =>
    ({ name, scope, period: "minute", interval: 60_000, burst: 5 }) as const;
  for (const one of [named("kept", "a"), named("1", "b"), named("2", "b"), named("3", "b")]) buckets.fill([one], 0);
  assert.equal(buckets.size, 3);
  assert.deepEqual(buckets.levels([named("kept", "a"), named("1", "b"), named("3", "b")], 0), [1, 0, 1]);
});
