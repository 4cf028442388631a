/** The limits of a config, with everything precomputed that is the same for each request. */

import {
  type HeaderEdit,
  HeaderName,
  type Period,
  PeriodWindows,
  periods,
  SlidingWindows,
  setHeaderEdit,
} from "@sluice/plugin-sdk";
import type { RateLimitingConfig } from "./schema.ts";

const titleOf = (period: Period): string => period.charAt(0).toUpperCase() + period.slice(1);

export const limitHeaderEdit = (period: Period, limit: number): HeaderEdit =>
  setHeaderEdit(`X-RateLimit-Limit-${titleOf(period)}`, String(limit));

export const remainingName = (period: Period): HeaderName => new HeaderName(`X-RateLimit-Remaining-${titleOf(period)}`);

export class Limit {
  readonly period: Period;
  readonly limit: number;
  /** X-RateLimit-Limit-<Period> */
  readonly limitEdit: HeaderEdit;
  /** X-RateLimit-Remaining-<Period> */
  readonly remaining: HeaderName;
  /** RateLimit-Limit, if this limit has the fewest remaining requests. */
  readonly tightestLimitEdit: HeaderEdit;
  readonly windows: PeriodWindows;
  /** The same windows, for `window_type: sliding`. */
  readonly slidingWindows: SlidingWindows;

  constructor(period: Period, limit: number) {
    this.period = period;
    this.limit = limit;
    this.limitEdit = limitHeaderEdit(period, limit);
    this.remaining = remainingName(period);
    this.tightestLimitEdit = setHeaderEdit("RateLimit-Limit", String(limit));
    this.windows = new PeriodWindows(period);
    this.slidingWindows = new SlidingWindows(period);
  }
}

export const limitsOf = (config: RateLimitingConfig): readonly Limit[] =>
  periods.flatMap((period) => {
    const limit = config[period];
    return limit === null ? [] : [new Limit(period, limit)];
  });
