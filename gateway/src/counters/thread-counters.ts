/**
 * Counters of `policy: local` for a single worker in the control thread. `incrementBelowLimit` is synchronous, so
 * limits are exact.
 */
import type { Bucket, BucketResult, Counter, CounterResult, Counters, Period } from "@sluice/plugin-sdk";
import { BoundedGroups, CounterGroup } from "./counter-groups.ts";
import { ThreadBuckets } from "./thread-buckets.ts";

export interface ThreadCountersOptions {
  /**
   * Maximum number of counters (about 200 bytes each), and of buckets; default 1,000,000. Above it, the oldest counter
   * of the largest group is dropped and starts again at zero: a flood of made-up identifiers replaces its own counters
   * first.
   */
  readonly capacity?: number;
  /** Called for each counter that is dropped. Default: does nothing. */
  readonly onReplace?: () => void;
}

/** The counts of one scope in one window, by counter name. */
type Group = CounterGroup<number>;

interface CountedWindow {
  /** The latest end of its counters: those of a sliding window are kept longer. */
  expires: number;
  /** Groups of counters by scope. */
  readonly groups: Map<string, Group>;
}

export class ThreadCounters implements Counters {
  readonly #windows = new Map<Period, Map<number, CountedWindow>>();
  readonly #all: BoundedGroups<number>;
  readonly #buckets: ThreadBuckets;

  constructor({ capacity = 1_000_000, onReplace }: ThreadCountersOptions = {}) {
    this.#all = new BoundedGroups(capacity, onReplace);
    this.#buckets = new ThreadBuckets({ capacity, onReplace });
  }

  get size(): number {
    return this.#all.size;
  }

  incrementBelowLimit(counters: readonly Counter[]): CounterResult {
    const only = counters.length === 1 ? counters[0] : undefined;
    if (only !== undefined) return this.#incrementOne(only);
    let admitted = true;
    const groups: Group[] = [];
    const before: number[] = [];
    for (const counter of counters) {
      const group = this.#group(counter);
      const count = group.get(counter.name) ?? 0;
      if (count + (counter.amount ?? 1) - 1 >= counter.limit) admitted = false;
      groups.push(group);
      before.push(count);
    }
    if (!admitted) return { admitted, counts: before };
    return { admitted, counts: counters.map((counter, at) => this.#add(counter, groups[at], counter.amount ?? 1)) };
  }

  /** Most configs have a single limit; this needs no lists. */
  #incrementOne(counter: Counter): CounterResult {
    const { name, limit, amount = 1 } = counter;
    const group = this.#group(counter);
    const before = group.get(name);
    const count = (before ?? 0) + amount;
    if (count - 1 >= limit) return { admitted: false, counts: [before ?? 0] };
    if (before === undefined) this.#all.add(group, name, count);
    else group.set(name, count);
    return { admitted: true, counts: [count] };
  }

  addAmount(counters: readonly Counter[], amount: number): readonly number[] {
    return counters.map((counter) =>
      amount === 0 ? this.#read(counter) : this.#add(counter, this.#group(counter), amount),
    );
  }

  fillBuckets(buckets: readonly Bucket[], now: number): BucketResult {
    return this.#buckets.fill(buckets, now);
  }

  bucketLevels(buckets: readonly Bucket[], now: number): readonly number[] {
    return this.#buckets.levels(buckets, now);
  }

  async close(): Promise<void> {
    this.#windows.clear();
    this.#buckets.clear();
  }

  #read({ name, scope, period, windowStart }: Counter): number {
    return this.#windows.get(period)?.get(windowStart)?.groups.get(scope)?.get(name) ?? 0;
  }

  #group(counter: Counter): Group {
    const window = this.#windows.get(counter.period)?.get(counter.windowStart) ?? this.#open(counter);
    if (counter.expires > window.expires) window.expires = counter.expires;
    const { groups } = window;
    const found = groups.get(counter.scope);
    if (found !== undefined) return found;
    const opened: Group = new CounterGroup();
    groups.set(counter.scope, opened);
    return opened;
  }

  #open({ period, windowStart, expires }: Counter): CountedWindow {
    this.#forgetBefore(windowStart);
    const opened: CountedWindow = { expires, groups: new Map() };
    const ofPeriod = this.#windows.get(period);
    if (ofPeriod === undefined) this.#windows.set(period, new Map([[windowStart, opened]]));
    else ofPeriod.set(windowStart, opened);
    return opened;
  }

  /** Runs when a new window begins: drops the windows that have ended by `time`. */
  #forgetBefore(time: number): void {
    for (const ofPeriod of this.#windows.values()) {
      for (const [start, { expires, groups }] of ofPeriod) {
        if (expires > time) continue;
        ofPeriod.delete(start);
        for (const group of groups.values()) this.#all.drop(group);
      }
    }
  }

  #add(counter: Counter, group: Group | undefined, amount: number): number {
    // Another counter of the same call may have replaced this counter.
    const before = group?.get(counter.name);
    if (group === undefined || before === undefined) {
      this.#all.add(this.#group(counter), counter.name, amount);
      return amount;
    }
    group.set(counter.name, before + amount);
    return before + amount;
  }
}
