/** A balancing algorithm picks one of the eligible targets. */
import type { TargetState } from "../target-state.ts";

/** A target and its weight. A target of weight 0 is never picked. */
export interface WeightedTarget {
  readonly member: TargetState;
  readonly weight: number;
}

export interface EligibleTargets {
  isEligible(index: number): boolean;
}

export interface BalancingAlgorithm {
  /**
   * @param hash the hash of the request's hash input; null when the request has no hash input
   * @returns the index of an eligible target; -1 when there is none
   */
  pick(fit: EligibleTargets, hash: number | null): number;
}
