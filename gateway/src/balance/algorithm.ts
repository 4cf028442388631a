/** What all algorithms of balancing are: one function from those that are fit to the one that is taken. */
import type { TargetState } from "./target-state.ts";

/** A member and its weight, above 0 for those that may be picked. */
export interface WeightedTarget {
  readonly member: TargetState;
  readonly weight: number;
}

export interface EligibleTargets {
  isEligible(index: number): boolean;
}

export interface BalancingAlgorithm {
  /**
   * @param hash of what the request shows; null when there is nothing to hash
   * @returns the index of an entry that fits; -1 when none does
   */
  pick(fit: EligibleTargets, hash: number | null): number;
}
