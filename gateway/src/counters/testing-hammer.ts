/** A thread that increments the same counters as other threads at the same time, and reports the results. */
import { parentPort, workerData } from "node:worker_threads";
import type { Counter } from "@sluice/plugin-sdk";
import { type CountersMemory, SharedCounters } from "./shared-counters.ts";

export interface Hammering {
  readonly memory: CountersMemory;
  readonly owner: number;
  /** One word: the number of threads that must still arrive before all begin. */
  readonly gate: Int32Array;
  /** The counters of each call of `take`. */
  readonly takes: readonly (readonly Counter[])[];
}

const { memory, owner, gate, takes } = workerData as Hammering;
const counters = new SharedCounters({ memory, owner });
if (Atomics.sub(gate, 0, 1) === 1) Atomics.notify(gate, 0);
for (let left = Atomics.load(gate, 0); left > 0; left = Atomics.load(gate, 0)) Atomics.wait(gate, 0, left, 10);
parentPort?.postMessage(takes.map((each) => counters.take(each)));
