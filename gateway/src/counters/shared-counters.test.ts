import assert from "node:assert/strict";
import { once } from "node:events";
import { test } from "node:test";
import { Worker } from "node:worker_threads";
import type { Counter, Taken } from "@sluice/plugin-sdk";
import { type CountersMemory, createCountersMemory, SharedCounters } from "./shared-counters.ts";
import type { Hammering } from "./testing-hammer.ts";

const windowStart = Date.now() - 1000;
const expires = windowStart + 3_600_000;
const counter = (name: string, members: Partial<Counter> = {}): Counter => ({
  name,
  scope: "-:-:-",
  period: "hour",
  windowStart,
  expires,
  limit: 5,
  ...members,
});

/**
 * Starts a thread for each list of `take` calls; all threads begin at the same time. Resolves to the results of each
 * thread.
 */
async function hammer(
  memory: CountersMemory,
  takes: readonly (readonly (readonly Counter[])[])[],
): Promise<readonly (readonly Taken[])[]> {
  const gate = new Int32Array(new SharedArrayBuffer(4)).fill(takes.length);
  return Promise.all(
    takes.map(async (own, index) => {
      const workerData: Hammering = { memory, owner: index + 1, gate, takes: own };
      const worker = new Worker(new URL("./testing-hammer.ts", import.meta.url), { workerData });
      const [answers] = await once(worker, "message");
      return answers;
    }),
  );
}

const THREADS = 6;
const many = <Value>(count: number, make: (index: number) => Value) =>
  Array.from({ length: count }, (_, at) => make(at));

test("threads that use one counter at the same time are admitted exactly as often as its limit allows, each time with a different count", async () => {
  const memory = createCountersMemory(1024);
  const one = counter("one", { limit: 12_345 });
  const answers = (
    await hammer(
      memory,
      many(THREADS, () => many(5000, () => [one])),
    )
  ).flat();
  const admitted = answers.filter((taken) => taken.admitted).map(({ counts }) => counts[0] ?? 0);
  assert.equal(admitted.length, 12_345);
  assert.equal(new Set(admitted).size, 12_345);
});

for (const [what, prepare] of [
  ["in unused slots", () => undefined],
  [
    "in slots whose windows have ended",
    (counters: SharedCounters) => {
      for (let at = 0; at < 40_000; at++) counters.take([counter(`gone ${at}`, { expires: Date.now() - 5_000 })]);
    },
  ],
] as const)
  test(`requests of threads that create the same counters ${what} are admitted exactly as often as each limit allows`, async () => {
    const memory = createCountersMemory(16_384);
    prepare(new SharedCounters({ memory, owner: 0, now: () => Date.now() - 10_000 }));
    const wanted = many(1000, (at) => counter(`key ${at}`, { limit: 7 }));
    // All threads use the keys in the same order, so that they compete for each.
    const takes = many(THREADS, () => wanted.flatMap((one) => many(4, () => [one])));
    const admitted = new Map<string, number>();
    for (const [thread, answers] of (await hammer(memory, takes)).entries())
      for (const [at, { admitted: is }] of answers.entries()) {
        const name = takes[thread]?.[at]?.[0]?.name ?? "";
        admitted.set(name, (admitted.get(name) ?? 0) + Number(is));
      }
    assert.deepEqual([...new Set(admitted.values())], [7]);
    assert.equal(admitted.size, 1000);
  });

test("threads that use several counters add the admitted requests to each counter, up to its limit", async () => {
  const memory = createCountersMemory(1024);
  const [narrow, wide] = [counter("narrow", { limit: 3000 }), counter("wide", { limit: 4000 })];
  const takes = many(THREADS, (thread) => many(3000, () => (thread % 2 === 0 ? [narrow, wide] : [wide, narrow])));
  takes[0] = many(3000, () => [wide]);
  const answers = await hammer(memory, takes);
  const admitted = answers.map((each) => each.filter((taken) => taken.admitted).length);
  const both = admitted.slice(1).reduce((sum, count) => sum + count, 0);
  const counters = new SharedCounters({ memory, owner: 0 });
  const left = [narrow, wide].map((each) => counters.take([{ ...each, limit: 0 }]).counts[0]);
  assert.deepEqual(left, [both, both + (admitted[0] ?? 0)]);
  assert.ok(both <= 3000 && both + (admitted[0] ?? 0) <= 4000);
});

test("threads that flood their own instance do not displace another instance's counters, and the group sizes add up to the number of counters", async () => {
  const capacity = 4096;
  const memory = createCountersMemory(capacity);
  const counters = new SharedCounters({ memory, owner: 0 });
  const kept = many(200, (at) => counter(`kept ${at}`, { scope: "kept", period: "minute", expires: expires - 1 }));
  for (const one of kept) counters.take([one]);
  // The two threads of each pair use the same identifiers, so that they also compete for slots.
  const flood = (thread: number) =>
    many(capacity, (at) => [counter(`flood ${thread >> 1} ${at}`, { scope: `flood ${thread % 2}`, limit: 1e9 })]);
  await hammer(memory, many(THREADS, flood));
  const words = new Int32Array(memory.buffer);
  const sizes = words.subarray(capacity * 8).reduce((sum, size) => sum + size, 0);
  assert.equal(sizes, counters.size);
  assert.deepEqual(new Set(kept.map((one) => counters.take([one]).counts[0])), new Set([2]));
});

test("when all slots are in use, a counter of the largest group is replaced, and counters of smaller groups continue", () => {
  let replaced = 0;
  const onReplace = () => {
    replaced += 1;
  };
  const counters = new SharedCounters({ memory: createCountersMemory(32), owner: 0, onReplace });
  const long = counter("long", { period: "day", expires: expires + 1 });
  counters.take([long]);
  for (let at = 0; at < 1000; at++) counters.take([counter(`flood ${at}`, { expires: expires - 60_000 })]);
  assert.equal(counters.size, 32);
  assert.equal(replaced, 1001 - 32, "each replacement is reported once");
  assert.deepEqual(counters.take([long]).counts, [2]);
  assert.deepEqual(counters.take([counter("flood 0", { expires: expires - 60_000 })]).counts, [1]);
});

test("a slot whose owner died during a write does not block other threads", () => {
  const memory = createCountersMemory(32);
  const counters = new SharedCounters({ memory, owner: 1 });
  counters.take([counter("one")]);
  const words = new Int32Array(memory.buffer);
  const at = words.findIndex((word) => word !== 0);
  // READY (2) becomes TAKEN (1), by owner 9.
  words[at] = ((words[at] ?? 0) & ~0x7ff) | (9 << 3) | 1;
  assert.deepEqual(counters.take([counter("one")]), { admitted: true, counts: [1] });
  assert.deepEqual(counters.take([counter("one")]), { admitted: true, counts: [2] });
});

test("all users of the same memory share its counters", () => {
  const memory = createCountersMemory(32);
  new SharedCounters({ memory, owner: 0 }).take([counter("one")]);
  assert.deepEqual(new SharedCounters({ memory, owner: 1 }).take([counter("one")]).counts, [2]);
});
