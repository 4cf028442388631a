import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { fakeContext, printMetrics } from "../../../../test/plugins/fake-exchange.ts";
import { DeliveryQueue } from "./delivery-queue.ts";
import type { QueueSettings } from "./queue-settings.ts";

const defaults: QueueSettings = {
  max_batch_size: 1,
  max_coalescing_delay: 1,
  max_entries: 10_000,
  max_bytes: null,
  max_retry_time: 60,
  initial_retry_delay: 0.01,
  max_retry_delay: 60,
  concurrency_limit: 1,
};

type Delivery = (entries: readonly string[]) => Promise<void>;

interface TestQueue {
  readonly queue: DeliveryQueue;
  /** The batches of all attempts. */
  readonly attempts: (readonly string[])[];
  readonly log: readonly string[];
  /** The number of dropped entries by reason. */
  dropped(): Promise<Readonly<Record<string, number>>>;
  /** Resolves once there have been this many attempts. */
  attempted(count: number): Promise<void>;
}

function startQueue(
  test: TestContext,
  settings: Partial<QueueSettings>,
  deliver: Delivery = async () => {},
): TestQueue {
  const log: string[] = [];
  const write = (facts: object, message: string) => void log.push(`${message} ${JSON.stringify(facts)}`);
  const context = fakeContext({ plugin: "http-log", log: { info: write, warn: write, error: write } });
  const attempts: (readonly string[])[] = [];
  let waiting: { readonly count: number; readonly resolve: () => void } | null = null;
  const queue = new DeliveryQueue({
    settings: { ...defaults, ...settings },
    context,
    deliver(batch) {
      const entries = batch.texts();
      attempts.push(entries);
      if (waiting !== null && attempts.length >= waiting.count) waiting.resolve();
      return deliver(entries);
    },
  });
  test.after(() => queue.close().then(() => context.end()));
  return {
    queue,
    attempts,
    log,
    async dropped() {
      const text = await printMetrics(context.metrics.tables);
      const lines = text.matchAll(/^sluice_http_log_dropped_entries_total\{reason="(\w+)"\} (\d+)$/gm);
      return Object.fromEntries([...lines].map(([, reason, count]) => [reason, Number(count)]));
    },
    attempted(count) {
      if (attempts.length >= count) return Promise.resolve();
      return new Promise((resolve) => {
        waiting = { count, resolve };
      });
    },
  };
}

test("with a batch size of 1, every entry is sent alone and in order", async (context) => {
  const { queue, attempts } = startQueue(context, {});
  for (const entry of ["a", "b", "c"]) queue.add(entry);
  await queue.close();
  assert.deepEqual(attempts, [["a"], ["b"], ["c"]]);
});

test("a full batch is sent immediately, and a smaller one after the coalescing delay", async (context) => {
  const { queue, attempts, attempted } = startQueue(context, { max_batch_size: 2, max_coalescing_delay: 0.02 });
  for (const entry of ["a", "b", "c"]) queue.add(entry);
  assert.deepEqual(attempts, [["a", "b"]]);
  await attempted(2);
  assert.deepEqual(attempts, [["a", "b"], ["c"]]);
});

test("without a coalescing delay, a batch is sent as soon as the previous one has been delivered", async (context) => {
  const gate = Promise.withResolvers<void>();
  const settings = { max_batch_size: 10, max_coalescing_delay: 0 };
  const { queue, attempts, attempted } = startQueue(context, settings, () => gate.promise);
  for (const entry of ["a", "b", "c"]) queue.add(entry);
  gate.resolve();
  await attempted(2);
  assert.deepEqual(attempts, [["a"], ["b", "c"]]);
});

test("a batch that was not delivered is sent again until it is delivered; the log reports one failure and the recovery", async (context) => {
  let failures = 3;
  const { queue, attempts, attempted, log } = startQueue(
    context,
    { initial_retry_delay: 0.001, max_retry_delay: 0.002 },
    async () => {
      if (failures-- > 0) throw new Error("refused");
    },
  );
  queue.add("a");
  await attempted(4);
  await queue.close();
  assert.deepEqual(attempts, [["a"], ["a"], ["a"], ["a"]]);
  assert.deepEqual(
    log.map((line) => line.split(" {")[0]),
    ["entries could not be delivered", "the delivery of entries works again"],
  );
  assert.match(log[0] ?? "", /"reason":"refused","plugin":"http-log"/);
});

const fail = () => Promise.reject(new Error("refused"));

test("the delays before retries double up to max_retry_delay", async (test) => {
  const delays: number[] = [];
  const context = fakeContext({
    startTimer(milliseconds, _options, action) {
      delays.push(milliseconds);
      setImmediate(action);
      return () => {};
    },
  });
  const delivered = Promise.withResolvers<void>();
  const queue = new DeliveryQueue({
    settings: { ...defaults, initial_retry_delay: 0.5, max_retry_delay: 3 },
    context,
    async deliver() {
      if (delays.length < 5) throw new Error("the server is down");
      delivered.resolve();
    },
  });
  test.after(() => queue.close().then(() => context.end()));
  queue.add("a");
  await delivered.promise;
  assert.deepEqual(delays, [500, 1000, 2000, 3000, 3000]);
});

test("a batch is dropped after the retry time, and the next one is tried", async (context) => {
  const settings = { max_retry_time: 0.02, initial_retry_delay: 0.005 };
  const { queue, attempts, attempted, dropped } = startQueue(context, settings, fail);
  queue.add("a");
  queue.add("b");
  while (attempts.at(-1)?.[0] !== "b") await attempted(attempts.length + 1);
  assert.deepEqual(await dropped(), { undelivered: 1 });
});

test("with a retry time of -1 a delivery is not repeated", async (context) => {
  const { queue, attempts, attempted, dropped } = startQueue(context, { max_retry_time: -1 }, fail);
  queue.add("a");
  queue.add("b");
  await attempted(2);
  await queue.close();
  assert.deepEqual([attempts, await dropped()], [[["a"], ["b"]], { undelivered: 2 }]);
});

const limits: readonly (readonly [string, Partial<QueueSettings>])[] = [
  ["entries", { max_entries: 3 }],
  ["bytes", { max_bytes: 3 }],
];

for (const [what, settings] of limits) {
  test(`while a server does not answer, the oldest entries are dropped to keep the limit of ${what}, and the log reports one drop`, async (context) => {
    const gate = Promise.withResolvers<void>();
    const { queue, attempts, dropped, log } = startQueue(context, settings, () => gate.promise);
    for (const entry of ["a", "b", "c", "d", "e", "f"]) queue.add(entry);
    gate.resolve();
    await queue.close();
    assert.deepEqual(attempts, [["a"], ["d"], ["e"], ["f"]]);
    assert.deepEqual(await dropped(), { full: 2 });
    assert.equal(log.filter((line) => line.startsWith("entries of the queue are dropped")).length, 1);
  });
}

test("an entry that is longer than the limit of bytes is dropped, and the others are sent", async (context) => {
  const { queue, attempts, dropped } = startQueue(context, { max_bytes: 3 });
  for (const entry of ["a", "long", "ü"]) queue.add(entry);
  await queue.close();
  assert.deepEqual([attempts, await dropped()], [[["a"], ["ü"]], { too_large: 1 }]);
});

test("without a limit of bytes, at most 32 MiB wait", async (context) => {
  const gate = Promise.withResolvers<void>();
  const { queue, dropped } = startQueue(context, {}, () => gate.promise);
  const entry = "x".repeat(1024 * 1024);
  for (let count = 0; count < 40; count++) queue.add(entry);
  assert.deepEqual(await dropped(), { full: 7 });
  gate.resolve();
});

test("with unlimited concurrency, entries are sent alone and concurrently, at most max_entries at a time", async (context) => {
  const gate = Promise.withResolvers<void>();
  const settings = { concurrency_limit: -1, max_entries: 2, max_batch_size: 10 } as const;
  const { queue, attempts, dropped } = startQueue(context, settings, () => gate.promise);
  for (const entry of ["a", "b", "c"]) queue.add(entry);
  assert.deepEqual([attempts, await dropped()], [[["a"], ["b"]], { full: 1 }]);
  gate.resolve();
  await queue.close();
  assert.equal(attempts.length, 2);
});

test("a queue that closes makes one last attempt for each remaining batch, without delays, and drops entries that are added afterwards", async (context) => {
  const { queue, attempts, attempted, dropped } = startQueue(
    context,
    { max_batch_size: 2, max_coalescing_delay: 3600, initial_retry_delay: 3600, max_retry_delay: 3600 },
    fail,
  );
  for (const entry of ["a", "b", "c"]) queue.add(entry);
  await attempted(1);
  await queue.close();
  queue.add("d");
  assert.deepEqual(attempts, [["a", "b"], ["a", "b"], ["c"]]);
  assert.deepEqual(await dropped(), { undelivered: 3, stopped: 1 });
});
