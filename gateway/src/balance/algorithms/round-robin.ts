/** Smooth weighted round-robin: a heavy target's turns are spread between the turns of lighter targets. */
import type { BalancingAlgorithm, EligibleTargets, WeightedTarget } from "./algorithm.ts";

/**
 * As in nginx: each pick adds every eligible target's weight to its credit. The target with the most credit is picked,
 * and its credit is reduced by the sum of all eligible targets' weights.
 */
export class RoundRobin implements BalancingAlgorithm {
  readonly #entries: readonly WeightedTarget[];
  readonly #credit: number[];

  constructor(entries: readonly WeightedTarget[]) {
    this.#entries = entries;
    this.#credit = entries.map(() => 0);
  }

  pick(fit: EligibleTargets): number {
    let [total, richest, most] = [0, -1, Number.NEGATIVE_INFINITY];
    for (const [at, { weight }] of this.#entries.entries()) {
      if (!fit.isEligible(at)) continue;
      total += weight;
      const credit = (this.#credit[at] ?? 0) + weight;
      this.#credit[at] = credit;
      if (credit > most) [richest, most] = [at, credit];
    }
    if (richest >= 0) this.#credit[richest] = most - total;
    return richest;
  }
}
