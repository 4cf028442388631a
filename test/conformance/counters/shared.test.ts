import { createCountersMemory, SharedCounters } from "../../../gateway/src/counters/shared-counters.ts";
import { filledRateLimiting as filled } from "../../plugins/filled-configs.ts";
import { boundedCountersSuite } from "./bounded.ts";
import { bucketsSuite } from "./buckets.ts";
import { countersSuite } from "./suite.ts";

countersSuite("counters in memory that workers share", async () => {
  const counters = new SharedCounters({ memory: createCountersMemory(1024), owner: 0 });
  return { counters, config: filled, held: async () => counters.size };
});

bucketsSuite("buckets in memory that workers share", async (now) => ({
  counters: new SharedCounters({ memory: createCountersMemory(1024), owner: 0, now }),
  config: filled,
}));

boundedCountersSuite("full counters in memory that workers share", (capacity) => {
  const memory = createCountersMemory(capacity);
  return [new SharedCounters({ memory, owner: 1 }), new SharedCounters({ memory, owner: 2 })];
});
