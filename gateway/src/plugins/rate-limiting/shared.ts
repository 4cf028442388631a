/**
 * Counters in memory that all workers of a node share: what is counted in one is counted in all, so that a limit is
 * that of the node. They outlive documents and workers.
 *
 * The number of counters is fixed. When all slots that a new counter may have are in use by windows that are not over,
 * it replaces one of the plugin instance that has the most counters in a window: a flood of made-up identifiers replaces
 * its own counters first, and no request is refused for lack of memory. A limit above 4,294,967,295 counts as none.
 */
import { getRandomValues } from "node:crypto";
import { type Period, periods } from "@sluice/model/serving";
import { Recent } from "../recent.ts";
import type { Counter, Counters, Taken } from "./counters.ts";
import { HASH_KEY_WORDS, keyedHash } from "./keyed-hash.ts";
import { SharedSlots } from "./shared-slots.ts";

/** What workers are given, by a message. */
export interface CountersMemory {
  readonly buffer: SharedArrayBuffer;
  readonly key: Uint32Array;
}

/** A million counters in 32 MB, of which the machine gives what is used. */
const DEFAULT_CAPACITY = 2 ** 20;

/** @param capacity A power of two, 32 at the least. */
export function createCountersMemory(capacity = DEFAULT_CAPACITY): CountersMemory {
  return {
    buffer: new SharedArrayBuffer(SharedSlots.bytes(capacity)),
    key: getRandomValues(new Uint32Array(HASH_KEY_WORDS)),
  };
}

export interface SharedCountersOptions {
  readonly memory: CountersMemory;
  /** Which of the memory's users this is: 0 to 255, no two at a time the same. */
  readonly owner: number;
  /** Unix milliseconds; default Date.now. */
  readonly now?: () => number;
}

const periodNumbers = Object.fromEntries(periods.map((period, at) => [period, at])) as Record<Period, number>;

export class SharedCounters implements Counters {
  readonly #slots: SharedSlots;
  readonly #hashes: Recent<Int32Array>;
  readonly #instanceHashes: Recent<number>;

  constructor({ memory: { buffer, key }, owner, now = Date.now }: SharedCountersOptions) {
    this.#hashes = new Recent((name) => keyedHash(name, key));
    this.#instanceHashes = new Recent((instance) => keyedHash(instance, key)[0] ?? 0);
    const instanceHash = (instance: string) => this.#instanceHashes.of(instance);
    this.#slots = new SharedSlots({ buffer, owner, now: () => now() / 1000, instanceHash });
  }

  /** How many counters are kept whose windows are not over. */
  get size(): number {
    return this.#slots.held();
  }

  /**
   * Exact over any number of workers for a request with one counter. With several, one that another counter's limit
   * stops at the very moment in which it was not seen yet is taken back: for that long others see it counted.
   */
  take(counters: readonly Counter[]): Taken {
    const slots = counters.map((counter) => this.#find(counter));
    const seen = slots.map((slot) => this.#slots.count(slot));
    if (counters.some(({ limit }, at) => (seen[at] ?? 0) >= limit)) return { admitted: false, counts: seen };
    const counts: number[] = [];
    for (const [at, { limit }] of counters.entries()) {
      const count = this.#slots.add(slots[at] ?? 0, limit);
      if (count === 0) {
        for (const slot of slots.slice(0, at)) this.#slots.remove(slot);
        return { admitted: false, counts: slots.map((slot) => this.#slots.count(slot)) };
      }
      counts.push(count);
    }
    return { admitted: true, counts };
  }

  /** The memory is the node's. */
  async close(): Promise<void> {}

  #find({ name, instance, period, windowStart, expires }: Counter): number {
    return this.#slots.find({
      hash: this.#hashes.of(name),
      window: windowStart | 0,
      period: (Math.floor(windowStart / 2 ** 32) << 3) | periodNumbers[period],
      instance,
      expires: Math.ceil(expires / 1000),
    });
  }
}
