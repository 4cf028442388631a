/**
 * Counters in memory that all workers of a node share, so that a limit applies to the whole node. They outlive
 * documents and workers.
 *
 * The number of slots is fixed. When all possible slots of a new counter are in use, the new counter replaces the
 * counter in these slots whose group is the largest (a group is the counters of one plugin instance in one time
 * window). So a flood of made-up identifiers replaces its own counters first, and no request is rejected for lack of
 * memory. A limit above 4,294,967,295 counts as no limit.
 */
import { getRandomValues } from "node:crypto";
import { type Counter, type Counters, type Period, periods, StringCache, type Taken } from "@sluice/plugin-sdk";
import { type CounterKey, CounterTable } from "../shared-memory/counter-table.ts";
import { HASH_KEY_WORDS, keyedHash } from "../shared-memory/keyed-hash.ts";

/** Sent to workers in a message. */
export interface CountersMemory {
  readonly buffer: SharedArrayBuffer;
  readonly key: Uint32Array;
}

/** A million counters in 32 MB; the system only allocates the pages that are used. */
const DEFAULT_CAPACITY = 2 ** 20;

/** @param capacity A power of two, at least 32. */
export function createCountersMemory(capacity = DEFAULT_CAPACITY): CountersMemory {
  return {
    buffer: new SharedArrayBuffer(CounterTable.bytes(capacity)),
    key: getRandomValues(new Uint32Array(HASH_KEY_WORDS)),
  };
}

export interface SharedCountersOptions {
  readonly memory: CountersMemory;
  /** The number of this user of the memory: 0 to 255, unique among concurrent users. */
  readonly owner: number;
  /** Unix milliseconds; default Date.now. */
  readonly now?: () => number;
  /** Called for each counter that this user replaces before its window has ended. Default: does nothing. */
  readonly onReplace?: () => void;
}

const periodNumbers = Object.fromEntries(periods.map((period, at) => [period, at])) as Record<Period, number>;

export class SharedCounters implements Counters {
  readonly #slots: CounterTable;
  readonly #hashes: StringCache<Int32Array>;
  readonly #instanceHashes: StringCache<number>;

  constructor({ memory: { buffer, key }, owner, now = Date.now, onReplace }: SharedCountersOptions) {
    this.#hashes = new StringCache((name) => keyedHash(name, key));
    this.#instanceHashes = new StringCache((instance) => keyedHash(instance, key)[0] ?? 0);
    const instanceHash = (instance: string) => this.#instanceHashes.of(instance);
    this.#slots = new CounterTable({ buffer, owner, now: () => now() / 1000, instanceHash, onReplace });
  }

  /** Number of counters whose windows have not ended. */
  get size(): number {
    return this.#slots.held();
  }

  /**
   * For a request with one counter, the limit is exact over any number of workers. With several counters, an increment
   * is undone if another counter turns out to be at its limit; until then, other workers see the increment.
   */
  take(counters: readonly Counter[]): Taken {
    const slots = counters.map((counter) => this.#slots.find(this.#keyOf(counter)));
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

  add(counters: readonly Counter[], amount: number): readonly number[] {
    return counters.map((counter) => {
      const key = this.#keyOf(counter);
      if (amount > 0) return this.#slots.addAmount(this.#slots.find(key), amount);
      const slot = this.#slots.search(key);
      return slot < 0 ? 0 : this.#slots.count(slot);
    });
  }

  /** Does nothing: the memory belongs to the node. */
  async close(): Promise<void> {}

  #keyOf({ name, scope, period, windowStart, expires }: Counter): CounterKey {
    return {
      hash: this.#hashes.of(name),
      window: windowStart | 0,
      period: (Math.floor(windowStart / 2 ** 32) << 3) | periodNumbers[period],
      instance: scope,
      expires: Math.ceil(expires / 1000),
    };
  }
}
