/**
 * Counters in this process. A take runs to its end before another begins, which is what makes it exact; nodes do not
 * share anything.
 */
import type { Period } from "@sluice/model";
import type { Counter, Counters, Taken } from "./counters.ts";

export interface LocalCountersOptions {
  /**
   * How many counters are kept at most (about 200 bytes each); default 1,000,000. When there are more, the oldest of
   * the fullest window begins again at nothing: a flood of made-up identifiers pushes out itself first.
   */
  readonly capacity?: number;
}

interface CountedWindow {
  readonly expires: number;
  readonly counts: Map<string, number>;
}

export class LocalCounters implements Counters {
  readonly #capacity: number;
  readonly #windows = new Map<Period, Map<number, CountedWindow>>();
  #size = 0;

  constructor({ capacity = 1_000_000 }: LocalCountersOptions = {}) {
    this.#capacity = capacity;
  }

  /** How many counters are kept. */
  get size(): number {
    return this.#size;
  }

  take(counters: readonly Counter[]): Taken {
    let admitted = true;
    const before = counters.map((counter) => {
      const count = this.#window(counter).counts.get(counter.name) ?? 0;
      if (count >= counter.limit) admitted = false;
      return count;
    });
    return { admitted, counts: admitted ? counters.map((counter) => this.#add(counter)) : before };
  }

  async close(): Promise<void> {
    this.#windows.clear();
    this.#size = 0;
  }

  #window({ period, windowStart, expires }: Counter): CountedWindow {
    const found = this.#windows.get(period)?.get(windowStart);
    if (found !== undefined) return found;
    this.#forgetBefore(windowStart);
    const opened: CountedWindow = { expires, counts: new Map() };
    const ofPeriod = this.#windows.get(period);
    if (ofPeriod === undefined) this.#windows.set(period, new Map([[windowStart, opened]]));
    else ofPeriod.set(windowStart, opened);
    return opened;
  }

  /** A window that begins is the clock: what ended before it is over. */
  #forgetBefore(time: number): void {
    for (const ofPeriod of this.#windows.values()) {
      for (const [start, { expires, counts }] of ofPeriod) {
        if (expires > time) continue;
        ofPeriod.delete(start);
        this.#size -= counts.size;
      }
    }
  }

  #add(counter: Counter): number {
    const { counts } = this.#window(counter);
    const before = counts.get(counter.name);
    if (before === undefined) {
      if (this.#size >= this.#capacity) this.#makeRoom();
      this.#size += 1;
    }
    const count = (before ?? 0) + 1;
    counts.set(counter.name, count);
    return count;
  }

  #makeRoom(): void {
    let fullest: Map<string, number> | undefined;
    for (const ofPeriod of this.#windows.values()) {
      for (const { counts } of ofPeriod.values()) {
        if (counts.size > (fullest?.size ?? 0)) fullest = counts;
      }
    }
    const oldest = fullest?.keys().next();
    if (fullest === undefined || oldest === undefined || oldest.done) return;
    fullest.delete(oldest.value);
    this.#size -= 1;
  }
}
