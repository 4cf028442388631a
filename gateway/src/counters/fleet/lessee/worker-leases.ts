/**
 * The counters of policy fleet in a worker thread: it spends tokens that the control thread has leased, from shared
 * memory, and asks the control thread if there are none.
 */
import type { Counter, CounterOptions, CounterResult, WindowCounters } from "@sluice/plugin-sdk";
import { wholeLimit } from "../accounts.ts";
import { MAX_COUNTERS, WindowTable } from "../window-table.ts";
import { type LeaseMemory, type LeasePlace, LeaseWords, type WorkerLease } from "./lease-words.ts";

/** The result of a request, and where a worker finds the tokens of its counters. */
export interface WorkerTokens extends CounterResult {
  readonly leases: readonly (WorkerLease | undefined)[];
}

/** The counters of the control thread, as its workers use them. */
export interface LeasingCounters extends WindowCounters {
  readonly memory: LeaseMemory;
  takeForWorker(counters: readonly Counter[], options: CounterOptions): Promise<WorkerTokens>;
  /** Leases more tokens of a counter if few are left. */
  refill(counter: Counter): void;
}

/** What a worker asks the control thread for. */
export type ControlLeases = Omit<LeasingCounters, "incrementBelowLimit" | "close">;

interface KnownLease {
  words: LeaseWords;
  place: LeasePlace;
  /** The limit of the latest request. */
  limit: number;
  /** As `CounterResult.previous`. */
  previous: number;
  /** Until this time of `performance.now()`, requests are refused without asking the control thread. */
  refusedUntil: number;
}

/** Milliseconds between two removals of windows that have ended. */
const TIDIED_EVERY = 1000;

export class WorkerFleetCounters implements WindowCounters {
  readonly #control: ControlLeases;
  readonly #leases = new WindowTable<KnownLease>({ capacity: MAX_COUNTERS, onReplace: () => undefined });
  #tidiedAt = performance.now();

  constructor(control: ControlLeases) {
    this.#control = control;
  }

  incrementBelowLimit(counters: readonly Counter[], options: CounterOptions): CounterResult | Promise<CounterResult> {
    return this.#decide(counters) ?? this.#ask(counters, options);
  }

  async addAmount(counters: readonly Counter[], amount: number, options: CounterOptions): Promise<readonly number[]> {
    return this.#control.addAmount(counters, amount, options);
  }

  async close(): Promise<void> {}

  /** Undefined: the control thread must decide. */
  #decide(counters: readonly Counter[]): CounterResult | undefined {
    const leases: KnownLease[] = [];
    for (const counter of counters) {
      const lease = this.#leases.get(counter);
      // The control thread must give back the tokens that were granted by a higher limit.
      if (lease === undefined || counter.limit < lease.limit) return undefined;
      if (counter.limit > lease.limit) Object.assign(lease, { limit: counter.limit, refusedUntil: 0 });
      leases.push(lease);
    }
    const amount = counters[0]?.amount ?? 1;
    for (const [at, { words, place }] of leases.entries()) {
      if (words.takeOf(place, amount)) continue;
      for (const { words: others } of leases.slice(0, at)) others.putBack(amount);
      return this.#refuse(counters, leases, at);
    }
    for (const [at, { words }] of leases.entries()) {
      const counter = counters[at];
      if (counter !== undefined && words.reportLow()) this.#control.refill(counter);
    }
    return { admitted: true, counts: leases.map(({ words }) => words.count), ...previousOf(counters, leases) };
  }

  /** @param at The counter without tokens */
  #refuse(counters: readonly Counter[], leases: readonly KnownLease[], at: number): CounterResult | undefined {
    const [counter, lease] = [counters[at], leases[at]];
    if (counter === undefined || lease === undefined) return undefined;
    if (performance.now() >= lease.refusedUntil) return undefined;
    const counts = leases.map(({ words }) => words.count);
    if (lease.words.held <= 0) counts[at] = Math.max(counts[at] ?? 0, wholeLimit(counter));
    return { admitted: false, counts, ...previousOf(counters, leases) };
  }

  async #ask(counters: readonly Counter[], options: CounterOptions): Promise<CounterResult> {
    const { leases, ...result } = await this.#control.takeForWorker(counters, options);
    for (const [at, counter] of counters.entries()) {
      const lease = leases[at];
      if (lease !== undefined) this.#know(counter, lease);
    }
    if (performance.now() - this.#tidiedAt > TIDIED_EVERY) {
      this.#tidiedAt = performance.now();
      this.#leases.forgetBefore(Date.now());
    }
    return result;
  }

  #know(counter: Counter, { refused, previous, ...place }: WorkerLease): void {
    const known = this.#leases.get(counter);
    const isSame = known?.place.slot === place.slot;
    const words = isSame ? known.words : LeaseWords.shared(this.#control.memory, place.slot);
    const facts = { words, place, limit: counter.limit, previous, refusedUntil: performance.now() + refused };
    if (known === undefined) this.#leases.add(counter, facts);
    else Object.assign(known, facts);
  }
}

const previousOf = ([first]: readonly Counter[], leases: readonly KnownLease[]): Pick<CounterResult, "previous"> =>
  first?.sliding === undefined ? {} : { previous: leases.map(({ previous }) => previous) };
