/** A thread that takes tokens of a lease until it is told to end, and then reports how many it took. */
import { parentPort, workerData } from "node:worker_threads";
import { type LeaseMemory, type LeasePlace, LeaseWords } from "./lease-words.ts";

export interface LeaseThreadOptions {
  readonly memory: LeaseMemory;
  readonly place: LeasePlace;
  /** Two words: the number of threads that have begun, and whether they must end. */
  readonly control: Int32Array;
}

const { memory, place, control } = workerData as LeaseThreadOptions;
const words = LeaseWords.shared(memory, place.slot);
let taken = 0;
Atomics.add(control, 0, 1);
while (Atomics.load(control, 1) === 0) if (words.takeOf(place, 1)) taken += 1;
parentPort?.postMessage(taken);
