/** Picks the target with the lowest cost, by round-robin among equals. Used for least-connections and latency. */
import type { BalancingAlgorithm, EligibleTargets, WeightedTarget } from "./algorithm.ts";
import { RoundRobin } from "./round-robin.ts";

/** Prepares a pick: returns the costs of the targets at this time. */
type Costs = () => (entry: WeightedTarget) => number;

export class LeastCost implements BalancingAlgorithm {
  readonly #entries: readonly WeightedTarget[];
  readonly #costs: Costs;
  readonly #turns: RoundRobin;

  constructor(entries: readonly WeightedTarget[], costs: Costs) {
    this.#entries = entries;
    this.#costs = costs;
    this.#turns = new RoundRobin(entries);
  }

  pick(fit: EligibleTargets): number {
    const costOf = this.#costs();
    let least = Number.POSITIVE_INFINITY;
    const costs = this.#entries.map((entry, at) => {
      if (!fit.isEligible(at)) return Number.NaN;
      const cost = costOf(entry);
      if (cost < least) least = cost;
      return cost;
    });
    return this.#turns.pick({ isEligible: (at) => costs[at] === least });
  }
}

/** Requests in flight divided by the weight. */
export const byConnections: Costs = () => connectionsPerWeight;

const connectionsPerWeight = ({ member, weight }: WeightedTarget): number => member.inFlight / weight;

/**
 * Expected wait of the next request: latency times requests in flight, including that one, divided by the weight.
 *
 * The latency of a target in slow start is unknown, or has faded while the target was unhealthy. It counts as at least
 * the mean of the others; otherwise the target would get all requests at once.
 */
export const byLatency =
  (entries: readonly WeightedTarget[], now: () => number): Costs =>
  () => {
    const time = now();
    const least = entries.some(({ isStarting }) => isStarting) ? meanLatency(entries, time) : 0;
    return ({ member, weight, isStarting }) => {
      const own = member.latency.valueAt(time);
      const latency = isStarting ? Math.max(own, least) : own;
      return (latency * (member.inFlight + 1)) / weight;
    };
  };

/** Milliseconds. Targets in slow start, without requests so far, or unhealthy are left out; 0 if there are no others. */
function meanLatency(entries: readonly WeightedTarget[], time: number): number {
  let [sum, count] = [0, 0];
  for (const { member, isStarting } of entries) {
    const latency = member.health.healthy && !isStarting ? member.latency.valueAt(time) : 0;
    if (latency === 0) continue;
    sum += latency;
    count++;
  }
  return count === 0 ? 0 : sum / count;
}
