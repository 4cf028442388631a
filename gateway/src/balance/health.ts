/**
 * Whether a target is fit, as a state machine. Signs come from clients' requests (passive) and from checks of the
 * node's own (active); both count in the same state, each by the limits of its own section.
 */
import type { Upstream } from "@sluice/model";

export type FailureSignal = "tcp_failures" | "timeouts" | "http_failures";
export type HealthSignal = "successes" | FailureSignal;

/** How many signs in a row turn a target; 0 looks at none. */
export type HealthThresholds = Readonly<Record<HealthSignal, number>>;

export type HealthState =
  | ({ readonly healthy: true } & Readonly<Record<FailureSignal, number>>)
  | { readonly healthy: false; readonly successes: number };

export const healthy: HealthState = { healthy: true, tcp_failures: 0, timeouts: 0, http_failures: 0 };
export const unhealthy: HealthState = { healthy: false, successes: 0 };

/** The one object of a state without counts, as `judge` answers it: what comes from another thread is a copy. */
export function withSharedState(state: HealthState): HealthState {
  if (!state.healthy) return state.successes === 0 ? unhealthy : state;
  return state.tcp_failures + state.timeouts + state.http_failures === 0 ? healthy : state;
}

/** The state after a sign. Nothing new is made when nothing changes. */
export function nextHealthState(state: HealthState, sign: HealthSignal, limits: HealthThresholds): HealthState {
  return sign === "successes" ? succeed(state, limits.successes) : fail(state, sign, limits[sign]);
}

function succeed(state: HealthState, limit: number): HealthState {
  if (state.healthy || limit === 0) return state.healthy ? healthy : state;
  const successes = state.successes + 1;
  return successes >= limit ? healthy : { healthy: false, successes };
}

function fail(state: HealthState, sign: FailureSignal, limit: number): HealthState {
  if (!state.healthy) return unhealthy;
  if (limit === 0) return state;
  const count = state[sign] + 1;
  return count >= limit ? unhealthy : { ...state, [sign]: count };
}

/** A section of an upstream's healthchecks, ready to be asked. */
export interface HealthRules {
  readonly thresholds: HealthThresholds;
  /** What a status tells; null: nothing. */
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

/** Whether anything can turn a target unhealthy. When nothing can, every target is fit. */
export function hasHealthChecks({ active, passive }: Upstream["healthchecks"]): boolean {
  const { tcp_failures, timeouts, http_failures } = passive.unhealthy;
  return active.healthy.interval > 0 || active.unhealthy.interval > 0 || tcp_failures + timeouts + http_failures > 0;
}
