import assert from "node:assert/strict";
import { it } from "node:test";
import { ThreadCounters } from "../../../gateway/src/counters/thread-counters.ts";
import { filledRateLimiting as filled } from "../../plugins/filled-configs.ts";
import { boundedCountersSuite } from "./bounded.ts";
import { counter, countersSuite } from "./suite.ts";

countersSuite("local counters", async () => {
  const counters = new ThreadCounters();
  return { counters, config: filled, held: async () => counters.size };
});

boundedCountersSuite("full local counters", (capacity) => [new ThreadCounters({ capacity })]);

it("local counters do not exceed their capacity: the oldest counter of the fullest window is dropped", () => {
  let dropped = 0;
  const onReplace = () => {
    dropped += 1;
  };
  const counters = new ThreadCounters({ capacity: 3, onReplace });
  const hour = counter({ period: "hour" });
  const minutes = [counter(), counter(), counter()].map((each) => ({ ...each, windowStart: 0, expires: 60_000 }));
  for (const each of [hour, ...minutes]) counters.take([each]);
  assert.equal(counters.size, 3);
  assert.equal(dropped, 1);
  assert.deepEqual(counters.take([hour]).counts, [2], "the window that was not flooded continues");
  assert.deepEqual(counters.take([minutes[0] ?? hour]).counts, [1], "the oldest counter starts again at zero");
});

it("replacing a local counter takes less than eight times as long as adding one", () => {
  const capacity = 100_000;
  const counters = new ThreadCounters({ capacity });
  const fill = () => {
    const flood = Array.from({ length: capacity }, () => counter({ period: "day" }));
    const window = { windowStart: 0, expires: Number.MAX_SAFE_INTEGER };
    const from = performance.now();
    for (const one of flood) counters.take([{ ...one, ...window }]);
    return performance.now() - from;
  };
  const added = fill();
  const replaced = Math.min(fill(), fill());
  assert.ok(replaced < 8 * added, `replacing took ${replaced} ms, adding took ${added} ms`);
});
