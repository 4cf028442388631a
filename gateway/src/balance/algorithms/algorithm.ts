/** A balancing algorithm picks one of the eligible targets. */
import type { TargetState } from "../target-state.ts";

/** A target and its weight, which is a fraction for an endpoint. A target of weight 0 is never picked. */
export interface WeightedTarget {
  readonly member: TargetState;
  readonly weight: number;
  /** Whether the weight is reduced by slow start. Default: false. */
  readonly isStarting?: boolean;
}

/** The weight as it is reported: a whole number, because Kong's clients expect one. Only 0 is reported as 0. */
export const reportedWeight = (weight: number): number => (weight === 0 ? 0 : Math.max(1, Math.round(weight)));

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
