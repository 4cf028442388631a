/** A bounded table of counters, by window and scope. */
import type { Counter, Period } from "@sluice/plugin-sdk";
import { BoundedGroups, CounterGroup } from "../counter-groups.ts";

/** Maximum number of counters that a node leases, and of those that it owns. */
export const MAX_COUNTERS = 100_000;

export interface WindowTableOptions<Value> {
  /** Maximum number of counters. Above it, a new counter replaces the oldest one of the largest group. */
  readonly capacity: number;
  /** Called for each counter that is replaced. */
  readonly onReplace: () => void;
  /** Called with each counter that is replaced, or whose window has ended. Default: does nothing. */
  readonly onDrop?: (value: Value) => void;
}

interface TableWindow<Value> {
  /** The latest end of its counters: those of a sliding window are kept longer. */
  expires: number;
  /** By scope, and then by the name of the counter. */
  readonly groups: Map<string, CounterGroup<Value>>;
}

export class WindowTable<Value> {
  /** By the period and the start of the window. */
  readonly #windows = new Map<Period, Map<number, TableWindow<Value>>>();
  readonly #all: BoundedGroups<Value>;
  #earliest = Number.POSITIVE_INFINITY;
  readonly #onDrop: ((value: Value) => void) | undefined;

  constructor({ capacity, onReplace, onDrop }: WindowTableOptions<Value>) {
    this.#onDrop = onDrop;
    this.#all = new BoundedGroups(capacity, (value) => {
      onReplace();
      onDrop?.(value);
    });
  }

  get size(): number {
    return this.#all.size;
  }

  /** No window ends earlier, in Unix milliseconds; Infinity: there is none. */
  get earliest(): number {
    return this.#earliest;
  }

  get({ period, windowStart, scope, name }: Counter): Value | undefined {
    return this.#windows.get(period)?.get(windowStart)?.groups.get(scope)?.get(name);
  }

  add({ period, windowStart, expires, scope, name }: Counter, value: Value): void {
    const ofPeriod = this.#windows.get(period) ?? new Map<number, TableWindow<Value>>();
    this.#windows.set(period, ofPeriod);
    const window = ofPeriod.get(windowStart) ?? { expires, groups: new Map<string, CounterGroup<Value>>() };
    if (expires > window.expires) window.expires = expires;
    if (window.expires < this.#earliest) this.#earliest = window.expires;
    ofPeriod.set(windowStart, window);
    const group = window.groups.get(scope) ?? new CounterGroup<Value>();
    window.groups.set(scope, group);
    this.#all.add(group, name, value);
  }

  *values(): Generator<Value> {
    for (const ofPeriod of this.#windows.values()) {
      for (const { groups } of ofPeriod.values()) for (const group of groups.values()) yield* group.values();
    }
  }

  /** Drops the windows that have ended by `time`, in Unix milliseconds. */
  forgetBefore(time: number): void {
    if (time < this.#earliest) return;
    this.#earliest = Number.POSITIVE_INFINITY;
    for (const ofPeriod of this.#windows.values()) {
      for (const [start, { expires, groups }] of ofPeriod) {
        if (expires > time) {
          this.#earliest = Math.min(this.#earliest, expires);
          continue;
        }
        ofPeriod.delete(start);
        for (const group of groups.values()) {
          if (this.#onDrop !== undefined) for (const value of group.values()) this.#onDrop(value);
          this.#all.drop(group);
        }
      }
    }
  }
}
