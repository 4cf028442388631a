/** The counters of a config with `window_type: sliding`, and the times in its headers. */
import { type Counter, type SlidingBounds, slidingWeight } from "@sluice/plugin-sdk";
import type { Limit } from "./limits.ts";

/** Counters of sliding windows are others than those of fixed windows. */
const SUFFIX = ":sliding";

export function slidingCounter(limit: Limit, now: number, of: Pick<Counter, "name" | "scope" | "amount">): Counter {
  const bounds = limit.slidingWindows.at(now);
  return {
    ...of,
    name: `${of.name}${SUFFIX}`,
    period: limit.period,
    limit: limit.limit,
    windowStart: bounds.start,
    expires: bounds.nextEnd,
    sliding: { previousStart: bounds.previousStart, end: bounds.end, weight: slidingWeight(bounds, now) },
  };
}

export interface SlidingUsage {
  /** The estimate of `CounterResult.counts`. */
  readonly count: number;
  /** Requests of the window before. */
  readonly previous: number;
  /** Unix milliseconds. */
  readonly now: number;
}

/** Whole seconds until nothing that has been counted counts any more, at least 1. */
export function secondsUntilUnused(limit: Limit, usage: SlidingUsage): number {
  const bounds = limit.slidingWindows.at(usage.now);
  return secondsUntil(ownOf(bounds, usage) > 0 ? bounds.nextEnd : bounds.end, usage.now);
}

/**
 * Whole seconds until a request of this amount is admitted, at least 1; without further requests. If the amount exceeds
 * the limit, the seconds until nothing counts any more.
 */
export function secondsUntilAdmitted(limit: Limit, amount: number, usage: SlidingUsage): number {
  const bounds = limit.slidingWindows.at(usage.now);
  const { start, end, nextEnd } = bounds;
  const own = ownOf(bounds, usage);
  const room = Math.ceil(limit.limit) - amount;
  if (room < 0) return secondsUntil(nextEnd, usage.now);
  // In the present window, or when its requests count as those of the window before.
  const at =
    own <= room
      ? fallsTo(usage.previous === 0 ? 1 : (room - own) / usage.previous, { start, end })
      : fallsTo(room / own, { start: end, end: nextEnd });
  return secondsUntil(at, usage.now);
}

/** Requests of the present window. */
const ownOf = (bounds: SlidingBounds, { count, previous, now }: SlidingUsage): number =>
  Math.max(0, count - Math.ceil(previous * slidingWeight(bounds, now)));

/** The time at which the weight of the window before has fallen to this one. */
const fallsTo = (weight: number, { start, end }: Pick<SlidingBounds, "start" | "end">): number =>
  end - Math.min(1, weight) * (end - start);

const secondsUntil = (time: number, now: number): number => Math.max(1, Math.ceil((time - now) / 1000));
