/** Counters of requests in fixed windows. Implementations: local (one thread), shared (all workers of a node), redis, database; one suite. */
import type { Period, RateLimitingConfig } from "@sluice/model";

/** One counter: an identifier in a window of a period, and how far it may go. */
export interface Counter {
  /** Everything that tells two counters apart but the window: plugin scope and identifier. */
  readonly name: string;
  /**
   * What the plugin is attached to. Where the number of counters is bounded, a new one replaces one of the instance that
   * has the most, so that a flood of made-up identifiers costs its own instance first.
   */
  readonly instance: string;
  readonly period: Period;
  /** Unix milliseconds at which the window began (UTC calendar units; month and year too). */
  readonly windowStart: number;
  /** Unix milliseconds at which the window ends: the counter may be forgotten then. */
  readonly expires: number;
  /** How many requests are let through. A fraction counts as the next whole number. */
  readonly limit: number;
}

/** What became of a request. */
export interface Taken {
  readonly admitted: boolean;
  /** The counters' values afterwards, in the order in which they were given. */
  readonly counts: readonly number[];
}

export interface Counters {
  /**
   * Adds one to every counter, unless one of them has reached its limit: then it changes none, so that a request
   * which the limit of a second stopped does not use up the hour's (as in Kong's local policy). One atomic step: over
   * any number of callers exactly `limit` are admitted. Where the counters live away from the node it is a promise,
   * which rejects when they cannot be reached.
   */
  take(counters: readonly Counter[], config: RateLimitingConfig): Taken | Promise<Taken>;
  /** Lets go of connections and timers. */
  close(): Promise<void>;
}

/** Tells the operator of the node about something that went wrong; `facts` hold no secrets. */
export type Warn = (message: string, facts: Readonly<Record<string, unknown>>) => void;
