/** Slow start: the weight of a target that was added, or became healthy again, grows over a window. */
import type { TargetState } from "../target-state.ts";
import type { WeightedTarget } from "./algorithm.ts";

/** The part of the weight at the beginning, as Envoy's default. Without it, a new target would never be picked. */
const MIN_SHARE = 0.1;

export interface SlowStart {
  /** Milliseconds. */
  readonly window: number;
  readonly now: () => number;
}

/** Has the full weight at the end of the window, and grows linearly, as in Envoy with aggression 1. */
export class StartingTarget implements WeightedTarget {
  readonly member: TargetState;
  readonly #weight: number;
  readonly #slowStart: SlowStart;

  constructor({ member, weight }: WeightedTarget, slowStart: SlowStart) {
    this.member = member;
    this.#weight = weight;
    this.#slowStart = slowStart;
  }

  get weight(): number {
    const { window, now } = this.#slowStart;
    const age = now() - this.member.startedAt;
    return age >= window ? this.#weight : this.#weight * Math.max(MIN_SHARE, age / window);
  }
}
