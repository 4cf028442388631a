import assert from "node:assert/strict";
import { once } from "node:events";
import { test } from "node:test";
import { Worker } from "node:worker_threads";
import type { Bucket, Counter, CounterResult } from "@sluice/plugin-sdk";
import { createConcurrencyMemory, releaseWorkerConcurrency, sharedConcurrency } from "./concurrency.ts";
import { type CountersMemory, createCountersMemory, SharedCounters } from "./shared-counters.ts";
import type { HammerOptions } from "./testing-hammer.ts";

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
 * Starts a thread for each list of `incrementBelowLimit` calls; all threads begin at the same time. Resolves to the
 * results of each thread.
 */
const hammer = (
  memory: CountersMemory,
  takes: readonly (readonly (readonly Counter[])[])[],
): Promise<readonly (readonly CounterResult[])[]> =>
  runThreads(
    memory,
    takes.map((own) => ({ takes: own })),
  );

/** Starts a thread for each item, as `hammer` does. */
async function runThreads(
  memory: CountersMemory,
  work: readonly Partial<HammerOptions>[],
): Promise<readonly (readonly CounterResult[])[]> {
  const gate = new Int32Array(new SharedArrayBuffer(4)).fill(work.length);
  return Promise.all(
    work.map(async (own, index) => {
      const workerData: HammerOptions = { memory, owner: index + 1, gate, takes: [], ...own };
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
      for (let at = 0; at < 40_000; at++)
        counters.incrementBelowLimit([counter(`gone ${at}`, { expires: Date.now() - 5_000 })]);
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
  const left = [narrow, wide].map((each) => counters.incrementBelowLimit([{ ...each, limit: 0 }]).counts[0]);
  assert.deepEqual(left, [both, both + (admitted[0] ?? 0)]);
  assert.ok(both <= 3000 && both + (admitted[0] ?? 0) <= 4000);
});

test("threads that flood their own instance do not displace another instance's counters, and the group sizes add up to the number of counters", async () => {
  const capacity = 4096;
  const memory = createCountersMemory(capacity);
  const counters = new SharedCounters({ memory, owner: 0 });
  const kept = many(200, (at) => counter(`kept ${at}`, { scope: "kept", period: "minute", expires: expires - 1 }));
  for (const one of kept) counters.incrementBelowLimit([one]);
  // The two threads of each pair use the same identifiers, so that they also compete for slots.
  const flood = (thread: number) =>
    many(capacity, (at) => [counter(`flood ${thread >> 1} ${at}`, { scope: `flood ${thread % 2}`, limit: 1e9 })]);
  await hammer(memory, many(THREADS, flood));
  const words = new Int32Array(memory.buffer);
  const sizes = words.subarray(capacity * 8).reduce((sum, size) => sum + size, 0);
  assert.equal(sizes, counters.size);
  assert.deepEqual(new Set(kept.map((one) => counters.incrementBelowLimit([one]).counts[0])), new Set([2]));
});

test("when all slots are in use, a counter of the largest group is replaced, and counters of smaller groups continue", () => {
  let replaced = 0;
  const onReplace = () => {
    replaced += 1;
  };
  const counters = new SharedCounters({ memory: createCountersMemory(32), owner: 0, onReplace });
  const long = counter("long", { period: "day", expires: expires + 1 });
  counters.incrementBelowLimit([long]);
  for (let at = 0; at < 1000; at++)
    counters.incrementBelowLimit([counter(`flood ${at}`, { expires: expires - 60_000 })]);
  assert.equal(counters.size, 32);
  assert.equal(replaced, 1001 - 32, "each replacement is reported once");
  assert.deepEqual(counters.incrementBelowLimit([long]).counts, [2]);
  assert.deepEqual(counters.incrementBelowLimit([counter("flood 0", { expires: expires - 60_000 })]).counts, [1]);
});

test("a slot whose owner died during a write does not block other threads", () => {
  const memory = createCountersMemory(32);
  const counters = new SharedCounters({ memory, owner: 1 });
  counters.incrementBelowLimit([counter("one")]);
  const words = new Int32Array(memory.buffer);
  const at = words.findIndex((word) => word !== 0);
  // READY (2) becomes TAKEN (1), by owner 9.
  words[at] = ((words[at] ?? 0) & ~0x7ff) | (9 << 3) | 1;
  assert.deepEqual(counters.incrementBelowLimit([counter("one")]), { admitted: true, counts: [1] });
  assert.deepEqual(counters.incrementBelowLimit([counter("one")]), { admitted: true, counts: [2] });
});

test("all users of the same memory share its counters", () => {
  const memory = createCountersMemory(32);
  new SharedCounters({ memory, owner: 0 }).incrementBelowLimit([counter("one")]);
  assert.deepEqual(new SharedCounters({ memory, owner: 1 }).incrementBelowLimit([counter("one")]).counts, [2]);
});

const bucketNamed = (name: string, members: Partial<Bucket> = {}): Bucket => ({
  name,
  scope: "-:-:-",
  period: "second",
  interval: 1000,
  burst: 0,
  ...members,
});

test("threads that fill the same buckets at the same time are admitted exactly as often as each burst allows, even in slots that have expired", async () => {
  const memory = createCountersMemory(16_384);
  const start = Date.now();
  const buckets = many(1000, (at) => bucketNamed(`bucket ${at}`, { burst: at % 8 }));
  const before = new SharedCounters({ memory, owner: 0, now: () => start });
  for (const one of buckets) before.fillBuckets([one], start);
  for (const now of [start + 100_000, start + 100_000 + 20 * 1000]) {
    const work = many(THREADS, () => ({ now, fills: buckets.flatMap((one) => many(9, () => [one])) }));
    const admitted = new Map<number, number>();
    for (const answers of await runThreads(memory, work))
      for (const [at, { admitted: is }] of answers.entries()) {
        const number = Math.floor(at / 9);
        admitted.set(number, (admitted.get(number) ?? 0) + Number(is));
      }
    for (const [number, count] of admitted) assert.equal(count, 1 + (number % 8), `bucket ${number}`);
  }
});

test("threads that fill two buckets leave in each exactly the admitted requests", async () => {
  const memory = createCountersMemory(1024);
  const now = Date.now();
  const [narrow, wide] = [
    bucketNamed("narrow", { burst: 2999 }),
    bucketNamed("wide", { period: "minute", burst: 4000 }),
  ];
  const fills = (thread: number) => many(3000, () => (thread % 2 === 0 ? [narrow, wide] : [wide, narrow]));
  const answers = await runThreads(
    memory,
    many(THREADS, (thread) => ({ now, fills: fills(thread) })),
  );
  const admitted = answers.flat().filter((each) => each.admitted).length;
  const counters = new SharedCounters({ memory, owner: 0, now: () => now });
  assert.deepEqual(counters.bucketLevels([narrow, wide], now), [admitted, admitted]);
  assert.ok(admitted <= 3000);
});

test("a bucket whose slot another instance needs is dropped once it has been empty for some seconds, and not before", () => {
  const clock = { now: Date.now() };
  const counters = new SharedCounters({ memory: createCountersMemory(32), owner: 0, now: () => clock.now });
  const one = bucketNamed("one", { interval: 10_000 });
  counters.fillBuckets([one], clock.now);
  for (const pause of [9_900, 9_000, 9_900]) {
    clock.now += pause;
    const { admitted } = counters.fillBuckets([one], clock.now);
    assert.equal(admitted, pause === 9_000, `after ${pause} ms`);
  }
  assert.equal(counters.size, 1);
  clock.now += 21_000;
  assert.equal(counters.size, 0);
});

test("threads that compete for the same slots get exactly as many as the limit allows, and the slots of an ended thread are free again", async () => {
  const names = many(2000, (at) => `name ${at}`);
  for (const limit of [1, 4]) {
    const slots = { memory: createConcurrencyMemory(THREADS, 4000), names, limit };
    const answers = await runThreads(
      createCountersMemory(32),
      many(THREADS, () => ({ slots })),
    );
    const worker = sharedConcurrency(slots.memory, 1);
    for (const [at, name] of names.entries()) {
      assert.equal(answers.filter((each) => each[at]?.admitted).length, limit, name);
      assert.equal(worker.held(name), limit);
    }
    for (const owner of many(THREADS, (at) => at + 1)) releaseWorkerConcurrency(slots.memory, owner);
    for (const name of names) assert.equal(worker.held(name), 0);
  }
});
