/** Random scenarios of a fleet, and the invariants of the protocol (README.md). */
import assert from "node:assert/strict";
import type { Counter } from "@sluice/plugin-sdk";
import { SIMULATION_START, SimulatedFleet, type SimulatedProcess } from "./testing-fleet.ts";
import { randomNumbers } from "./testing-network.ts";

/**
 * calm: only messages are lost, delayed, repeated and reordered, and clocks differ. changes: nodes also join and shut
 * down. crashes: nodes also crash and start again. partitions: some nodes are also separated from the others for a
 * while, and the authority may replace them meanwhile.
 */
export const fleetFaults = ["calm", "changes", "crashes", "partitions"] as const;
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
  #started = 0;
  /** A partition in which no view was published leaves the owners as they are. */
  #viewsChanged = false;

  constructor(seed: number, faults: FleetFaults) {
    this.#faults = faults;
    this.#hasAmounts = seed % 4 === 3;
    const random = randomNumbers(seed);
    this.#random = random;
    this.#fleet = new SimulatedFleet({
      random,
      loss: random() * 0.2,
      repetition: random() * 0.2,
      delay: 1 + random() * 30,
      viewDelay: VIEW_DELAY,
      unowned: this.#pick(["share", "open", "closed"] as const),
    });
    this.#counters = Array.from({ length: this.#between(1, 3) }, (_, at) => ({
      name: `counter-${at}`,
      scope: `scope-${at % 2}`,
      period: "second",
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
  }

  check(totals: SimulationTotals): void {
    const { tallies, undecided, incompleteHandovers } = this.#fleet;
    assert.equal(undecided, 0, "every request is decided");
    if (this.#faults === "calm" || this.#faults === "changes") assert.equal(incompleteHandovers, 0);
    totals.incompleteHandovers += incompleteHandovers;
    for (const [id, tally] of tallies) {
      const { limit, requests, served, servedByEnded, borrowed, overshoot } = tally;
      const facts = `${id}: ${JSON.stringify(tally)}, incomplete hand-overs: ${incompleteHandovers}`;
      totals.requests += requests;
      totals.served += served;
      totals.borrowed += borrowed;
      totals.beyond += Math.max(0, served - limit);
      if (this.#faults === "calm" || this.#faults === "changes") {
        assert.ok(served <= limit, `at most the limit is served without a failure: ${facts}`);
        assert.equal(borrowed + overshoot, 0, `an owner answers without a failure: ${facts}`);
        const isOnlyCounter = this.#counters.length === 1;
        if (isOnlyCounter && !this.#hasAmounts)
          assert.equal(served, Math.min(limit, requests), `no token is left unused: ${facts}`);
      } else {
        const lineages = this.#viewsChanged && this.#faults === "partitions" ? 1 + incompleteHandovers : 1;
        assert.ok(served - servedByEnded <= limit * lineages + borrowed, `the overshoot is bounded: ${facts}`);
      }
      if (this.#faults === "partitions") {
        assert.ok(overshoot >= served - servedByEnded - limit, `the overshoot is counted: ${facts}`);
      }
    }
  }

  #start(): SimulatedProcess {
    const skew = Math.round((this.#random() * 2 - 1) * SKEW);
    return this.#fleet.start(`node-${this.#started++}`, { skew });
  }

  #request(isSkewed: boolean): void {
    const ready = this.#serving.filter(({ epoch }) => epoch > 0);
    const to = isSkewed && this.#random() < 0.9 ? ready[0] : this.#pick(ready);
    if (to === undefined) return;
    const time = SIMULATION_START + this.#fleet.queue.time + to.skew;
    const windowStart = Math.floor(time / WINDOW) * WINDOW;
    const first = this.#pick(this.#counters);
    const chosen = this.#random() < 0.2 ? new Set([first, this.#pick(this.#counters)]) : [first];
    const amount = this.#hasAmounts ? this.#between(1, 5) : 1;
    const counters = [...chosen].map((each) => ({ ...each, windowStart, expires: windowStart + WINDOW, amount }));
    // Requests come in bursts.
    for (let left = this.#random() < 0.2 ? this.#between(1, 10) : 1; left > 0; left--)
      this.#fleet.request(to, counters);
  }

  #disturb(): void {
    if (this.#faults === "partitions" && this.#random() < 0.7) this.#separate();
    else if (this.#faults === "crashes" && this.#random() < 0.7) this.#crash();
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
