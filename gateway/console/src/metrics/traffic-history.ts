/** Rates and percentiles from successive snapshots of counters. */
import type { TrafficCounts, TrafficScope, TrafficSnapshot } from "./traffic-snapshot.ts";

/** What happened between two snapshots, per second. */
export interface TrafficRates {
  readonly rate: number;
  readonly serverErrorRate: number;
  readonly clientErrorRate: number;
  readonly refusedRate: number;
  /** Milliseconds; null without requests, or if latencies are not measured. */
  readonly p50: number | null;
  readonly p95: number | null;
  readonly p99: number | null;
}

export interface TrafficPoint extends TrafficRates {
  readonly at: number;
}

export interface TrafficRow extends TrafficRates {
  readonly name: string;
  /** Since the nodes started. */
  readonly requests: number;
}

/** Points of the charts: ten minutes at one point each five seconds. */
const MAX_POINTS = 120;

/** Snapshots over which the rates of single routes are averaged: one minute. */
const MAX_SNAPSHOTS = 13;

/** With more series than this, only two snapshots are kept, because each has tens of megabytes. */
const MANY_SERIES = 5000;

export class TrafficHistory {
  readonly #points: TrafficPoint[] = [];
  readonly #snapshots: TrafficSnapshot[] = [];

  add(snapshot: TrafficSnapshot): void {
    const last = this.#snapshots.at(-1);
    if (last) {
      this.#points.push({
        at: snapshot.at,
        ...ratesBetween(last.total, snapshot.total, secondsBetween(last, snapshot)),
      });
      if (this.#points.length > MAX_POINTS) this.#points.shift();
    }
    this.#snapshots.push(snapshot);
    const series = Object.values(snapshot.by).reduce((sum, { size }) => sum + size, 0);
    const kept = series > MANY_SERIES ? 2 : MAX_SNAPSHOTS;
    while (this.#snapshots.length > kept) this.#snapshots.shift();
  }

  get latest(): TrafficSnapshot | undefined {
    return this.#snapshots.at(-1);
  }

  /** The number of snapshots that the rates are computed from. */
  get depth(): number {
    return this.#snapshots.length;
  }

  get points(): readonly TrafficPoint[] {
    return this.#points;
  }

  /** The rates of each route, service or consumer over the kept snapshots. */
  rows(scope: TrafficScope): readonly TrafficRow[] {
    const [first, last] = [this.#snapshots[0], this.#snapshots.at(-1)];
    if (!first || !last) return [];
    const seconds = secondsBetween(first, last);
    return [...last.by[scope]].map(([name, counts]) => ({
      name,
      requests: counts.requests,
      ...ratesBetween(first.by[scope].get(name), counts, seconds),
    }));
  }

  /** The rates of one series; undefined if it has none. */
  ratesOf(scope: TrafficScope, name: string): TrafficRates | undefined {
    const [first, last] = [this.#snapshots[0], this.#snapshots.at(-1)];
    const counts = last?.by[scope].get(name);
    return first && last && counts && ratesBetween(first.by[scope].get(name), counts, secondsBetween(first, last));
  }
}

const secondsBetween = (first: TrafficSnapshot, last: TrafficSnapshot): number => (last.at - first.at) / 1000;

/** A counter that is smaller than before belongs to a node that has started again, from 0. */
const increase = (before: number, after: number): number => (after >= before ? after - before : after);

/** @param before Undefined: the series did not exist yet. */
export function ratesBetween(before: TrafficCounts | undefined, after: TrafficCounts, seconds: number): TrafficRates {
  const per = (member: "requests" | "serverErrors" | "clientErrors" | "refused") =>
    seconds > 0 ? increase(before?.[member] ?? 0, after[member]) / seconds : 0;
  const bounds = [...after.buckets.keys()].sort((one, other) => one - other);
  const grown = bounds.map((bound) => increase(before?.buckets.get(bound) ?? 0, after.buckets.get(bound) ?? 0));
  const percentile = (share: number) => (seconds > 0 ? percentileOf(bounds, grown, share) : null);
  return {
    rate: per("requests"),
    serverErrorRate: per("serverErrors"),
    clientErrorRate: per("clientErrors"),
    refusedRate: per("refused"),
    p50: percentile(0.5),
    p95: percentile(0.95),
    p99: percentile(0.99),
  };
}

/**
 * The percentile by linear interpolation within a bucket, as Prometheus' histogram_quantile computes it.
 *
 * @param cumulative The number of values up to each bound.
 */
export function percentileOf(bounds: readonly number[], cumulative: readonly number[], share: number): number | null {
  const total = cumulative.at(-1) ?? 0;
  if (total === 0) return null;
  const wanted = share * total;
  const index = cumulative.findIndex((count) => count >= wanted);
  const upper = bounds[index] ?? 0;
  const lower = index === 0 ? 0 : (bounds[index - 1] ?? 0);
  // The last bucket has no upper bound.
  if (!Number.isFinite(upper)) return lower;
  const below = index === 0 ? 0 : (cumulative[index - 1] ?? 0);
  const within = (cumulative[index] ?? 0) - below;
  return within === 0 ? upper : lower + ((upper - lower) * (wanted - below)) / within;
}
