/** Random scenarios of a fleet, and the invariants of the protocol (README.md). */
import assert from "node:assert/strict";
import { type Counter, slidingWeight } from "@sluice/plugin-sdk";
import { counterId } from "./accounts.ts";
import { type CounterTally, SIMULATION_START, SimulatedFleet, type SimulatedProcess } from "./testing-fleet.ts";
import { randomNumbers } from "./testing-network.ts";

/**
 * calm: only messages are lost, delayed, repeated and reordered, and clocks differ. changes: nodes also join and shut
 * down. crashes: nodes also crash and start again. partitions: some nodes are also separated from the others for a
 * while, and the authority may replace them meanwhile. restarts: nodes join and shut down, and sometimes all crash at once
 * and start again with what they have saved.
 */
export const fleetFaults = ["calm", "changes", "crashes", "partitions", "restarts"] as const;
export type FleetFaults = (typeof fleetFaults)[number];

/** Sums over simulations. */
export interface SimulationTotals {
  requests: number;
  served: number;
  borrowed: number;
  /** Requests that were served beyond a limit. */
  beyond: number;
  incompleteHandovers: number;
}

/** Milliseconds in which requests arrive, and in which nodes change. */
const DURATION = 2500;
/** Milliseconds until everything is decided, reported and settled. */
const REST = 2000;
const VIEW_DELAY = 150;
const WINDOW = 2000;
/** So short that a scenario has several. */
const SLIDING_WINDOW = 700;
const SKEW = 2000;

export interface SimulationOptions {
  readonly faults: FleetFaults;
  /** Number of scenarios. */
  readonly seeds: number;
  /** The seed of the first scenario; the others follow. */
  readonly first: number;
}

/** Runs scenarios; throws an error that names the seed if one violates an invariant. */
export function simulateFleets({ faults, seeds, first }: SimulationOptions): SimulationTotals {
  const totals = { requests: 0, served: 0, borrowed: 0, beyond: 0, incompleteHandovers: 0 };
  for (let seed = first; seed < first + seeds; seed++) {
    try {
      const scenario = new Scenario(seed, faults);
      scenario.run();
      scenario.check(totals);
    } catch (error) {
      throw new Error(`seed ${seed} of ${faults}: ${(error as Error).message}`, { cause: error });
    }
  }
  return totals;
}

class Scenario {
  readonly #faults: FleetFaults;
  readonly #random: () => number;
  readonly #fleet: SimulatedFleet;
  readonly #counters: readonly Omit<Counter, "windowStart" | "expires">[];
  readonly #serving: SimulatedProcess[] = [];
  readonly #leaving = new Set<string>();
  /** In a quarter of the scenarios, requests take 1 to 5 tokens. */
  readonly #hasAmounts: boolean;
  /** In an eighth, amounts are added whatever the limit; the first counter gets nothing else. */
  readonly #hasSums: boolean;
  /** In an eighth, windows slide, and the clocks do not differ. */
  readonly #isSliding: boolean;
  /** The counters to which amounts were added. */
  readonly #summed = new Map<string, Counter>();
  /** The names of counters with requests. */
  readonly #requested = new Set<string>();
  #started = 0;
  /** A partition in which no view was published leaves the owners as they are. */
  #viewsChanged = false;

  constructor(seed: number, faults: FleetFaults) {
    this.#faults = faults;
    this.#hasAmounts = seed % 4 === 3;
    this.#hasSums = seed % 8 === 5;
    this.#isSliding = seed % 8 === 6;
    const random = randomNumbers(seed);
    this.#random = random;
    this.#fleet = new SimulatedFleet({
      random,
      loss: random() * 0.2,
      repetition: random() * 0.2,
      delay: 1 + random() * 30,
      viewDelay: VIEW_DELAY,
      unowned: this.#pick(["share", "open", "closed"] as const),
      onServed: (counters) => this.#checkSliding(counters),
    });
    this.#counters = Array.from({ length: this.#between(1, 3) }, (_, at) => ({
      name: `counter-${at}`,
      scope: `scope-${at % 2}`,
      period: faults === "restarts" ? "day" : "second",
      limit: this.#between(1, this.#pick([3, 20, 80])),
    }));
  }

  run(): void {
    const { queue } = this.#fleet;
    for (let left = this.#between(2, 6); left > 0; left--) this.#serving.push(this.#start());
    this.#fleet.publish(this.#serving.map(({ name }) => name));
    queue.runUntil(400);
    if (this.#faults !== "calm") {
      for (let left = this.#between(1, 3); left > 0; left--) {
        queue.after(this.#random() * DURATION, () => this.#disturb());
      }
    }
    // Most requests go to one node, or all nodes get as many.
    const isSkewed = this.#random() < 0.5;
    for (let left = this.#between(50, 250); left > 0; left--) {
      queue.after(this.#random() * DURATION, () => this.#request(isSkewed));
    }
    queue.runUntil(400 + DURATION);
    this.#fleet.heal();
    queue.runUntil(400 + DURATION + REST);
    const [reader] = this.#serving;
    for (const counter of this.#summed.values()) if (reader !== undefined) this.#fleet.add(reader, counter, 0);
    queue.runUntil(400 + DURATION + 2 * REST);
  }

  check(totals: SimulationTotals): void {
    const { tallies, undecided, incompleteHandovers } = this.#fleet;
    assert.equal(undecided, 0, "every request is decided");
    if (this.#isExact) assert.equal(incompleteHandovers, 0);
    totals.incompleteHandovers += incompleteHandovers;
    for (const [id, tally] of tallies) {
      this.#checkSum(id, tally);
      const { limit, requests, served, servedByEnded, borrowed, overshoot } = tally;
      const facts = `${id}: ${JSON.stringify(tally)}, incomplete hand-overs: ${incompleteHandovers}`;
      totals.requests += requests;
      totals.served += served;
      totals.borrowed += borrowed;
      totals.beyond += Math.max(0, served - limit);
      if (this.#isExact) {
        assert.ok(served <= limit, `at most the limit is served without a failure: ${facts}`);
        assert.equal(borrowed + overshoot, 0, `an owner answers without a failure: ${facts}`);
        const isOnlyCounter = this.#counters.length === 1;
        if (isOnlyCounter && !this.#hasAmounts && !this.#hasSums && !this.#isSliding)
          assert.equal(served, Math.min(limit, requests), `no token is left unused: ${facts}`);
      } else if (this.#faults === "restarts") {
        assert.ok(served <= limit + tally.lost + borrowed, `only what was not saved is forgotten: ${facts}`);
      } else {
        const lineages = this.#viewsChanged && this.#faults === "partitions" ? 1 + incompleteHandovers : 1;
        assert.ok(served - servedByEnded <= limit * lineages + borrowed, `the overshoot is bounded: ${facts}`);
      }
      if (this.#faults === "partitions") {
        assert.ok(overshoot >= served - servedByEnded - limit, `the overshoot is counted: ${facts}`);
      }
    }
  }

  get #isExact(): boolean {
    return this.#faults === "calm" || this.#faults === "changes";
  }

  /** The nodes that still run, and without failures all, have told all amounts. */
  #checkSum(id: string, { added, addedByEnded, served, servedByEnded, read }: CounterTally): void {
    const summed = this.#summed.get(id);
    if (summed === undefined) return;
    if (this.#faults === "restarts") return;
    const least = this.#isExact ? added + served : added - addedByEnded + served - servedByEnded;
    assert.ok(read >= least, `${id}: ${read} of at least ${least} is known`);
    // Tokens that nodes hold count as used, also those that they lease before a window begins.
    const { name } = summed;
    if (this.#isExact && !this.#requested.has(name)) assert.equal(read, added, id);
  }

  /** The estimate does not exceed the limit after any admitted request. */
  #checkSliding(counters: readonly Counter[]): void {
    if (!this.#isExact) return;
    for (const counter of counters) {
      const { windowStart, sliding, limit } = counter;
      if (sliding === undefined) return;
      const windows = [sliding.previousStart, windowStart, sliding.end].map((start) => ({
        start,
        end: start + SLIDING_WINDOW,
        served: this.#fleet.tallies.get(counterId({ ...counter, windowStart: start }))?.served ?? 0,
      }));
      for (const [at, window] of windows.entries()) {
        const before = windows[at - 1];
        if (before === undefined) continue;
        const weight = slidingWeight(window, SIMULATION_START + this.#fleet.queue.time);
        const estimate = window.served + Math.ceil(before.served * weight);
        assert.ok(estimate <= limit, `${counter.name}: an estimate of ${estimate} exceeds the limit of ${limit}`);
      }
    }
  }

  #windowAt(time: number): Pick<Counter, "windowStart" | "expires" | "sliding"> {
    const length = this.#isSliding ? SLIDING_WINDOW : WINDOW;
    const windowStart = Math.floor(time / length) * length;
    const end = windowStart + length;
    if (!this.#isSliding) return { windowStart, expires: end };
    const weight = slidingWeight({ start: windowStart, end }, time);
    return { windowStart, expires: end + length, sliding: { previousStart: windowStart - length, end, weight } };
  }

  #start(): SimulatedProcess {
    const skew = this.#isSliding ? 0 : Math.round((this.#random() * 2 - 1) * SKEW);
    const started = this.#fleet.start(`node-${this.#started++}`, { skew });
    if (this.#faults === "restarts") {
      this.#fleet.restore(started);
      this.#saveSometimes(started);
    }
    return started;
  }

  #saveSometimes(each: SimulatedProcess): void {
    this.#fleet.queue.after(this.#between(50, 1000), () => {
      if (!each.isRunning) return;
      this.#fleet.save(each);
      this.#saveSometimes(each);
    });
  }

  #request(isSkewed: boolean): void {
    const ready = this.#serving.filter(({ epoch }) => epoch > 0);
    const to = isSkewed && this.#random() < 0.9 ? ready[0] : this.#pick(ready);
    if (to === undefined) return;
    const window = this.#windowAt(SIMULATION_START + this.#fleet.queue.time + to.skew);
    const first = this.#pick(this.#counters);
    if (this.#hasSums && (first === this.#counters[0] || this.#random() < 0.3)) {
      const summed = { ...first, ...window };
      this.#summed.set(counterId(summed), summed);
      this.#fleet.add(to, summed, this.#between(0, 5));
      return;
    }
    const chosen = this.#random() < 0.2 ? new Set([first, this.#pick(this.#counters)]) : [first];
    const amount = this.#hasAmounts ? this.#between(1, 5) : 1;
    const counters = [...chosen].map((each) => ({ ...each, ...window, amount }));
    for (const { name } of counters) this.#requested.add(name);
    // Requests come in bursts.
    for (let left = this.#random() < 0.2 ? this.#between(1, 10) : 1; left > 0; left--)
      this.#fleet.request(to, counters);
  }

  #disturb(): void {
    if (this.#faults === "partitions" && this.#random() < 0.7) this.#separate();
    else if (this.#faults === "crashes" && this.#random() < 0.7) this.#crash();
    else if (this.#faults === "restarts" && this.#random() < 0.7) this.#restart();
    else if (this.#random() < 0.5) this.#join();
    else this.#leave();
  }

  #join(): void {
    this.#serving.push(this.#start());
    this.#publish();
  }

  #leave(): void {
    if (this.#serving.length < 2) return;
    const leaving = this.#remove();
    this.#leaving.add(leaving.name);
    this.#publish();
    const { queue } = this.#fleet;
    // The process has the view in which it is leaving, and has ended its last requests.
    queue.after(300, () => {
      this.#fleet.retire(leaving);
      this.#fleet.whenDismissed(leaving, () => {
        this.#leaving.delete(leaving.name);
        this.#publish();
        this.#fleet.whenDismissed(leaving, () => this.#fleet.end(leaving));
      });
    });
  }

  #crash(): void {
    if (this.#serving.length < 2) return;
    this.#fleet.end(this.#remove());
    this.#fleet.queue.after(this.#between(100, 800), () => {
      if (this.#random() < 0.5) this.#serving.push(this.#start());
      this.#publish();
    });
  }

  /** All nodes crash, and others start. */
  #restart(): void {
    this.#fleet.endAll();
    this.#serving.length = 0;
    this.#leaving.clear();
    for (let left = this.#between(1, 4); left > 0; left--) this.#serving.push(this.#start());
    this.#publish();
  }

  #separate(): void {
    if (this.#fleet.network.isolated.size > 0 || this.#serving.length < 2) return;
    const names = this.#serving.map(({ name }) => name);
    const isolated = names.slice(0, this.#between(1, names.length - 1));
    this.#fleet.network.isolated = new Set(isolated);
    const { queue } = this.#fleet;
    const replaces = this.#random() < 0.5;
    if (replaces) {
      queue.after(300, () => this.#publish(new Set(isolated)));
    }
    queue.after(this.#between(400, 1500), () => {
      this.#fleet.heal();
      if (replaces) this.#publish();
    });
  }

  #publish(without: ReadonlySet<string> = new Set()): void {
    this.#viewsChanged = true;
    const names = this.#serving.map(({ name }) => name).filter((name) => !without.has(name));
    if (names.length > 0) this.#fleet.publish(names, [...this.#leaving]);
  }

  #remove(): SimulatedProcess {
    const at = this.#between(0, this.#serving.length - 1);
    const [removed] = this.#serving.splice(at, 1);
    if (removed === undefined) throw new Error("no process serves");
    return removed;
  }

  #between(least: number, most: number): number {
    return least + Math.floor(this.#random() * (most - least + 1));
  }

  #pick<Value>(values: readonly Value[]): Value {
    return values[Math.floor(this.#random() * values.length)] as Value;
  }
}
