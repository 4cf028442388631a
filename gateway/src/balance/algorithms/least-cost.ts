/** Picks the target with the lowest cost, by round-robin among equals. Used for least-connections and latency. */
import type { BalancingAlgorithm, EligibleTargets, WeightedTarget } from "./algorithm.ts";
import { RoundRobin } from "./round-robin.ts";

export class LeastCost implements BalancingAlgorithm {
  readonly #entries: readonly WeightedTarget[];
  readonly #cost: (entry: WeightedTarget) => number;
  readonly #turns: RoundRobin;

  constructor(entries: readonly WeightedTarget[], cost: (entry: WeightedTarget) => number) {
    this.#entries = entries;
    this.#cost = cost;
    this.#turns = new RoundRobin(entries);
  }

  pick(fit: EligibleTargets): number {
    let least = Number.POSITIVE_INFINITY;
    const costs = this.#entries.map((entry, at) => {
      if (!fit.isEligible(at)) return Number.NaN;
      const cost = this.#cost(entry);
      if (cost < least) least = cost;
      return cost;
    });
    return this.#turns.pick({ isEligible: (at) => costs[at] === least });
  }
}

/** Requests in flight divided by the weight. */
export const byConnections = ({ member, weight }: WeightedTarget): number => member.inFlight / weight;

/** Expected wait of the next request: latency times requests in flight, including that one, divided by the weight. */
export const byLatency =
  (now: () => number) =>
  ({ member, weight }: WeightedTarget): number =>
    (member.latency.valueAt(now()) * (member.inFlight + 1)) / weight;
