/** Slow start: the weight of a target that was added, or became healthy again, grows over a window. */
import type { TargetState } from "../target-state.ts";
import type { BalancingAlgorithm, EligibleTargets, WeightedTarget } from "./algorithm.ts";

/** The part of the weight at the beginning, as Envoy's default. Without it, a new target would never be picked. */
const MIN_SHARE = 0.1;

export interface SlowStartOptions {
  readonly entries: readonly WeightedTarget[];
  /** Milliseconds. */
  readonly window: number;
  /** Milliseconds by a monotonic clock. */
  readonly now: () => number;
  /** Creates the algorithm that picks among the entries. */
  readonly create: (entries: readonly WeightedTarget[]) => BalancingAlgorithm;
}

/** Lets an algorithm pick by the weights at the time of the pick. */
export class SlowStart implements BalancingAlgorithm {
  readonly #entries: readonly StartingTarget[];
  readonly #window: number;
  readonly #now: () => number;
  readonly #algorithm: BalancingAlgorithm;

  constructor({ entries, window, now, create }: SlowStartOptions) {
    this.#entries = entries.map((entry) => new StartingTarget(entry));
    this.#window = window;
    this.#now = now;
    this.#algorithm = create(this.#entries);
  }

  pick(fit: EligibleTargets, hash: number | null): number {
    const time = this.#now();
    for (const entry of this.#entries) entry.setAge(time - entry.member.startedAt, this.#window);
    return this.#algorithm.pick(fit, hash);
  }
}

/** Has the full weight at the end of the window, and grows linearly, as in Envoy with aggression 1. */
class StartingTarget implements WeightedTarget {
  readonly member: TargetState;
  weight: number;
  isStarting = false;
  readonly #fullWeight: number;

  constructor({ member, weight }: WeightedTarget) {
    this.member = member;
    this.weight = weight;
    this.#fullWeight = weight;
  }

  /** Both in milliseconds. */
  setAge(age: number, window: number): void {
    const isStarting = age < window;
    if (!isStarting && !this.isStarting) return;
    this.isStarting = isStarting;
    this.weight = isStarting ? this.#fullWeight * Math.max(MIN_SHARE, age / window) : this.#fullWeight;
  }
}
