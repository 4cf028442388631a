/** Counters of requests in fixed windows. Implementations: local (this node) and redis; one suite runs for both. */
import type { Period, RateLimitingConfig } from "@sluice/model";

/** One counter: an identifier in a window of a period. */
export interface CounterKey {
  /** Everything that tells two counters apart but the window: plugin scope and identifier. */
  readonly name: string;
  readonly period: Period;
  /** Unix milliseconds at which the window began (UTC calendar units; month and year too). */
  readonly windowStart: number;
  /** Unix milliseconds after which the counter may be forgotten. */
  readonly expires: number;
}

export interface Counters {
  /**
   * Adds one to every counter and returns their new values in order. One atomic step: two callers never see the same
   * value. Where the counters live away from the node it is a promise, which rejects when they cannot be reached.
   */
  increment(keys: readonly CounterKey[], config: RateLimitingConfig): readonly number[] | Promise<readonly number[]>;
  /** Lets go of connections and timers. */
  close(): Promise<void>;
}
