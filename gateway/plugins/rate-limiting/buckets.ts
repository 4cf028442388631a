/** The buckets of a config (`algorithm: bucket`), and their headers. */
import {
  type Bucket,
  type BucketResult,
  type HeaderEdit,
  type HeaderEdits,
  type HeaderName,
  nominalLength,
  type Period,
  periods,
  setHeaderEdit,
} from "@sluice/plugin-sdk";
import { RATE_LIMIT_REMAINING, RATE_LIMIT_RESET } from "./headers.ts";
import { limitHeaderEdit, remainingName } from "./limits.ts";
import type { RateLimitingConfig } from "./schema.ts";

export class BucketLimit {
  readonly period: Period;
  /** Milliseconds in which one request leaks out. */
  readonly interval: number;
  readonly burst: number;
  /** X-RateLimit-Limit-<Period> */
  readonly limitEdit: HeaderEdit;
  /** X-RateLimit-Remaining-<Period> */
  readonly remaining: HeaderName;
  /** RateLimit-Limit, if this bucket admits the fewest requests. */
  readonly tightestLimitEdit: HeaderEdit;

  constructor(period: Period, limit: number, burst: number) {
    this.period = period;
    this.interval = nominalLength[period] / limit;
    this.burst = burst;
    this.limitEdit = limitHeaderEdit(period, limit);
    this.remaining = remainingName(period);
    this.tightestLimitEdit = setHeaderEdit("RateLimit-Limit", String(1 + burst));
  }

  bucket(name: string, scope: string): Bucket {
    const { period, interval, burst } = this;
    return { name, scope, period, interval, burst };
  }

  /** The number of requests that a bucket with this level admits at once. */
  remainingAt(level: number): number {
    return Math.max(0, Math.floor(1 + this.burst - level));
  }

  /** Whole seconds until a bucket with this level has leaked to another level, at least 1. */
  secondsUntil(level: number, lower: number): number {
    return Math.max(1, Math.ceil(((level - lower) * this.interval) / 1000));
  }
}

export const bucketLimitsOf = (config: RateLimitingConfig): readonly BucketLimit[] =>
  periods.flatMap((period) => {
    const limit = config[period];
    return limit === null ? [] : [new BucketLimit(period, limit, config.burst?.[period] ?? 0)];
  });

/** Index of the bucket that admits the fewest requests; of several such buckets, the one with the longest period. */
function tightestOf(limits: readonly BucketLimit[], levels: readonly number[]): number {
  let tightest = 0;
  let least = Number.POSITIVE_INFINITY;
  for (const [at, limit] of limits.entries()) {
    const remaining = limit.remainingAt(levels[at] ?? 0);
    if (remaining > least) continue;
    tightest = at;
    least = remaining;
  }
  return tightest;
}

/** Sets `X-RateLimit-*` for every bucket, and `RateLimit-*` for the bucket that admits the fewest requests. */
export function setBucketHeaders(headers: HeaderEdits, limits: readonly BucketLimit[], { levels }: BucketResult): void {
  for (const [at, limit] of limits.entries()) {
    headers.apply(limit.limitEdit);
    headers.set(limit.remaining, String(limit.remainingAt(levels[at] ?? 0)));
  }
  const at = tightestOf(limits, levels);
  const tightest = limits[at];
  const level = levels[at] ?? 0;
  if (tightest === undefined) return;
  headers.apply(tightest.tightestLimitEdit);
  headers.set(RATE_LIMIT_REMAINING, String(tightest.remainingAt(level)));
  headers.set(RATE_LIMIT_RESET, String(tightest.secondsUntil(level, 0)));
}

/** Whole seconds until every bucket admits a request, at least 1. */
export const retryAfter = (limits: readonly BucketLimit[], { levels }: BucketResult): number =>
  Math.max(...limits.map((limit, at) => limit.secondsUntil(levels[at] ?? 0, limit.burst)));
