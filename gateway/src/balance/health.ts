/**
 * A target's health as a state machine. Signals come from clients' requests (passive) and from the node's own checks
 * (active). Both change the same state, each by the thresholds of its own section.
 */
import type { Upstream } from "@sluice/model";

export type FailureSignal = "tcp_failures" | "timeouts" | "http_failures";
export type HealthSignal = "successes" | FailureSignal;

/**
 * How many signals of a kind change a target's health; 0: signals of this kind never change it. A success restarts the
 * counts of failures, and a failure restarts the count of successes.
 */
export type HealthThresholds = Readonly<Record<HealthSignal, number>>;

export type HealthState =
  | ({ readonly healthy: true } & Readonly<Record<FailureSignal, number>>)
  | { readonly healthy: false; readonly successes: number };

export const HEALTHY: HealthState = { healthy: true, tcp_failures: 0, timeouts: 0, http_failures: 0 };
export const UNHEALTHY: HealthState = { healthy: false, successes: 0 };

/**
 * Replaces a state without counts by the shared object. States from another thread are copies, and changes of state are
 * detected by object identity.
 */
export function withSharedState(state: HealthState): HealthState {
  if (!state.healthy) return state.successes === 0 ? UNHEALTHY : state;
  return state.tcp_failures + state.timeouts + state.http_failures === 0 ? HEALTHY : state;
}

/** The state after a signal; the same object when nothing changes. */
export function nextHealthState(state: HealthState, signal: HealthSignal, limits: HealthThresholds): HealthState {
  return signal === "successes" ? succeed(state, limits.successes) : fail(state, signal, limits[signal]);
}

function succeed(state: HealthState, limit: number): HealthState {
  if (state.healthy || limit === 0) return state.healthy ? HEALTHY : state;
  const successes = state.successes + 1;
  return successes >= limit ? HEALTHY : { healthy: false, successes };
}

function fail(state: HealthState, signal: FailureSignal, limit: number): HealthState {
  if (!state.healthy) return UNHEALTHY;
  if (limit === 0) return state;
  const count = state[signal] + 1;
  return count >= limit ? UNHEALTHY : { ...state, [signal]: count };
}

/** One section of an upstream's healthchecks, prepared for lookups. */
export interface HealthRules {
  readonly thresholds: HealthThresholds;
  /** The signal of a response status; null: the status is ignored. */
  signalFor(status: number): HealthSignal | null;
}

type Section = Pick<Upstream["healthchecks"]["passive"], "type" | "healthy" | "unhealthy">;

export function healthRulesOf({ type, healthy: good, unhealthy: bad }: Section): HealthRules {
  const { tcp_failures, timeouts, http_failures } = bad;
  const [successes, failures] = [new Set<number>(good.http_statuses), new Set<number>(bad.http_statuses)];
  return {
    thresholds: { successes: good.successes, tcp_failures, timeouts, http_failures },
    signalFor(status) {
      if (type === "tcp" || successes.has(status)) return "successes";
      return failures.has(status) ? "http_failures" : null;
    },
  };
}

/** Whether active checks run, or passive checks can make a target unhealthy. If neither, health is ignored. */
export function hasHealthChecks({ active, passive }: Upstream["healthchecks"]): boolean {
  const { tcp_failures, timeouts, http_failures } = passive.unhealthy;
  return active.healthy.interval > 0 || active.unhealthy.interval > 0 || tcp_failures + timeouts + http_failures > 0;
}
