/**
 * Counters in memory that all workers of a node share, so that a limit applies to the whole node. They outlive
 * documents and workers.
 *
 * The number of slots is fixed. When all possible slots of a new counter are in use, the new counter replaces the
 * counter in these slots whose group is the largest (a group is the counters of one scope in one time window). So a flood of made-up identifiers replaces its own counters first, and no request is rejected for lack of
 * memory. A limit above 4,294,967,295 counts as no limit.
 */
import { getRandomValues } from "node:crypto";
import {
  type Bucket,
  type BucketResult,
  type Counter,
  type CounterResult,
  type Counters,
  type Period,
  periods,
  StringCache,
} from "@sluice/plugin-sdk";
import { BUCKET_GRACE, type CounterKey, CounterTable } from "../shared-memory/counter-table.ts";
import { HASH_KEY_WORDS, keyedHash } from "../shared-memory/keyed-hash.ts";
import {
  bucketAdmits,
  filledResult,
  fullLevel,
  isOverfull,
  levelOf,
  UNITS_PER_REQUEST,
  unitsAt,
} from "./bucket-levels.ts";

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
  readonly #scopeHashes: StringCache<number>;

  constructor({ memory: { buffer, key }, owner, now = Date.now, onReplace }: SharedCountersOptions) {
    this.#hashes = new StringCache((name) => keyedHash(name, key));
    this.#scopeHashes = new StringCache((scope) => keyedHash(scope, key)[0] ?? 0);
    const scopeHash = (scope: string) => this.#scopeHashes.of(scope);
    this.#slots = new CounterTable({ buffer, owner, now: () => now() / 1000, scopeHash, onReplace });
  }

  /** Number of counters whose windows have not ended. */
  get size(): number {
    return this.#slots.held();
  }

  /**
   * For a request with one counter, the limit is exact over any number of workers. With several counters, an increment
   * is undone if another counter turns out to be at its limit; until then, other workers see the increment.
   */
  incrementBelowLimit(counters: readonly Counter[]): CounterResult {
    const only = counters.length === 1 ? counters[0] : undefined;
    if (only !== undefined) return this.#incrementOne(only);
    const slots = counters.map((counter) => this.#slots.find(this.#keyOf(counter)));
    const seen = slots.map((slot) => this.#slots.count(slot));
    if (counters.some(({ limit, amount = 1 }, at) => (seen[at] ?? 0) + amount - 1 >= limit))
      return { admitted: false, counts: seen };
    const counts: number[] = [];
    for (const [at, { limit, amount = 1 }] of counters.entries()) {
      const count = this.#slots.add(slots[at] ?? 0, limit, amount);
      if (count === 0) {
        for (let other = 0; other < at; other++) this.#slots.remove(slots[other] ?? 0, counters[other]?.amount ?? 1);
        return { admitted: false, counts: slots.map((slot) => this.#slots.count(slot)) };
      }
      counts.push(count);
    }
    return { admitted: true, counts };
  }

  /** Most configs have a single limit; this needs no lists. */
  #incrementOne(counter: Counter): CounterResult {
    const slot = this.#slots.find(this.#keyOf(counter));
    const count = this.#slots.add(slot, counter.limit, counter.amount);
    return count === 0 ? { admitted: false, counts: [this.#slots.count(slot)] } : { admitted: true, counts: [count] };
  }

  addAmount(counters: readonly Counter[], amount: number): readonly number[] {
    return counters.map((counter) => {
      const key = this.#keyOf(counter);
      if (amount > 0) return this.#slots.addAmount(this.#slots.find(key), amount);
      const slot = this.#slots.search(key);
      return slot < 0 ? 0 : this.#slots.count(slot);
    });
  }

  /**
   * Exact over any number of workers, like `incrementBelowLimit`. A slot holds the lower 32 bits of the time at which
   * the bucket will be empty. They are unambiguous: the slot expires soon after that time (2^31 units are at least 41
   * seconds), and MAX_BURST limits how far that time is in the future.
   */
  fillBuckets(buckets: readonly Bucket[], now: number): BucketResult {
    const slots = buckets.map((bucket) => this.#slots.find(this.#bucketKeyOf(bucket, now)));
    for (const [at, bucket] of buckets.entries()) this.#correct(slots[at] ?? 0, bucket, now);
    const seen = buckets.map((bucket, at) => this.#levelAt(slots[at] ?? 0, bucket, now));
    if (!buckets.every((bucket, at) => bucketAdmits(seen[at] ?? 0, bucket))) return filledResult(false, seen);
    const levels: number[] = [];
    for (const [at, bucket] of buckets.entries()) {
      const level = this.#fillOne(slots[at] ?? 0, bucket, now);
      if (level === null) {
        for (const slot of slots.slice(0, at)) this.#unfill(slot);
        return filledResult(
          false,
          buckets.map((each, index) => this.#levelAt(slots[index] ?? 0, each, now)),
        );
      }
      levels.push(level);
    }
    return filledResult(true, levels);
  }

  bucketLevels(buckets: readonly Bucket[], now: number): readonly number[] {
    return buckets.map((bucket) => {
      const slot = this.#slots.search(this.#bucketKeyOf(bucket, now));
      return slot < 0 || this.#slots.isExpired(slot) ? 0 : this.#levelAt(slot, bucket, now) / UNITS_PER_REQUEST;
    });
  }

  /** Does nothing: the memory belongs to the node. */
  async close(): Promise<void> {}

  #correct(slot: number, bucket: Bucket, now: number): void {
    const emptyAt = this.#slots.count(slot);
    const time = timeOf(bucket, now);
    // If another worker changes the bucket at the same time, a later request corrects it.
    if (isOverfull((emptyAt - time) | 0, bucket)) this.#slots.exchange(slot, emptyAt, time + fullLevel(bucket));
  }

  #levelAt(slot: number, bucket: Bucket, now: number): number {
    return levelOf((this.#slots.count(slot) - timeOf(bucket, now)) | 0, bucket);
  }

  /** The level after the request, in units; null: the bucket does not admit it. */
  #fillOne(slot: number, bucket: Bucket, now: number): number | null {
    const time = timeOf(bucket, now);
    for (;;) {
      const emptyAt = this.#slots.count(slot);
      const level = levelOf((emptyAt - time) | 0, bucket);
      if (!bucketAdmits(level, bucket)) return null;
      const after = level + UNITS_PER_REQUEST;
      this.#slots.extend(slot, expiryOf(now + (after / UNITS_PER_REQUEST) * bucket.interval));
      if (this.#slots.exchange(slot, emptyAt, time + after)) return after;
    }
  }

  #unfill(slot: number): void {
    for (;;) {
      const emptyAt = this.#slots.count(slot);
      if (this.#slots.exchange(slot, emptyAt, emptyAt - UNITS_PER_REQUEST)) return;
    }
  }

  #bucketKeyOf(bucket: Bucket, now: number): CounterKey {
    const { name, scope, period, interval } = bucket;
    return {
      hash: this.#hashes.of(name),
      // A window of a counter begins after 1970, so its upper bits, in `period`, are not 0.
      window: Math.round(interval * 1000) | 0,
      period: periodNumbers[period],
      scope,
      expires: expiryOf(now),
      count: timeOf(bucket, now),
      isBucket: true,
    };
  }

  #keyOf({ name, scope, period, windowStart, expires }: Counter): CounterKey {
    return {
      hash: this.#hashes.of(name),
      window: windowStart | 0,
      period: (Math.floor(windowStart / 2 ** 32) << 3) | periodNumbers[period],
      scope,
      expires: Math.ceil(expires / 1000),
      count: 0,
      isBucket: false,
    };
  }
}

/** The last second that a word can hold, in the year 2106. */
const LAST_SECOND = 0xffffffff;

/** @param emptyAt Unix milliseconds */
const expiryOf = (emptyAt: number): number => Math.min(Math.ceil(emptyAt / 1000) + BUCKET_GRACE, LAST_SECOND);

/** The lower 32 bits of the time in units. */
const timeOf = ({ interval }: Bucket, now: number): number => unitsAt(now, interval) | 0;
