/** A thread that increments the same counters as other threads at the same time, and reports the results. */
import { parentPort, workerData } from "node:worker_threads";
import type { Bucket, Counter } from "@sluice/plugin-sdk";
import { type ConcurrencyMemory, sharedConcurrency } from "./concurrency.ts";
import { type CountersMemory, SharedCounters } from "./shared-counters.ts";

export interface HammerOptions {
  readonly memory: CountersMemory;
  readonly owner: number;
  /** One word: the number of threads that must still arrive before all begin. */
  readonly gate: Int32Array;
  /** The counters of each call of `incrementBelowLimit`. */
  readonly takes: readonly (readonly Counter[])[];
  /** The buckets of each call of `fillBuckets`, all at the same time (`now`). */
  readonly fills?: readonly (readonly Bucket[])[];
  readonly now?: number;
  /** Slots of which the thread acquires one of each name. */
  readonly slots?: { readonly memory: ConcurrencyMemory; readonly names: readonly string[]; readonly limit: number };
}

const { memory, owner, gate, takes, fills = [], now = 0, slots } = workerData as HammerOptions;
const counters = new SharedCounters({ memory, owner, ...(now > 0 && { now: () => now }) });
const concurrency = slots && sharedConcurrency(slots.memory, owner);
if (Atomics.sub(gate, 0, 1) === 1) Atomics.notify(gate, 0);
for (let left = Atomics.load(gate, 0); left > 0; left = Atomics.load(gate, 0)) Atomics.wait(gate, 0, left, 10);
parentPort?.postMessage([
  ...takes.map((each) => counters.incrementBelowLimit(each)),
  ...fills.map((each) => counters.fillBuckets(each, now)),
  ...(slots?.names ?? []).map((name) => ({ admitted: concurrency?.acquire(name, slots?.limit ?? 0) })),
]);
