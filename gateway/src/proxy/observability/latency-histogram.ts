/**
 * A histogram of durations. A bucket covers a quarter of the range from one power of two (in microseconds) to the next,
 * so a percentile is at most 25 % above the exact percentile. Histograms are merged by adding their counts.
 */

/** A bucket's index, and the number of durations in it. */
export type BucketCount = readonly [bucket: number, count: number];

/** Buckets per power of two. The two bits after a duration's highest 1 bit select one of them. */
const QUARTERS = 4;
/** Durations from about 71 minutes on are in the last bucket. */
const BUCKETS = 32 * QUARTERS;
const LARGEST = 2 ** 32 - 1;

export class LatencyHistogram {
  readonly #counts = new Uint32Array(BUCKETS);

  add(milliseconds: number): void {
    const microseconds = Math.min(LARGEST, Math.max(0, milliseconds * 1000)) >>> 0;
    const exponent = 31 - Math.clz32(microseconds | 1);
    const quarter = exponent < 2 ? 0 : (microseconds >>> (exponent - 2)) & (QUARTERS - 1);
    const bucket = exponent * QUARTERS + quarter;
    this.#counts[bucket] = (this.#counts[bucket] ?? 0) + 1;
  }

  /** The buckets that are not empty, in order. */
  buckets(): readonly BucketCount[] {
    return [...this.#counts].flatMap((count, bucket) => (count === 0 ? [] : [[bucket, count] as const]));
  }
}

/** The duration in milliseconds below which this share (0 to 1) of the durations lies; null: there are none. */
export function percentileOf(buckets: readonly BucketCount[], share: number): number | null {
  const total = buckets.reduce((sum, [, count]) => sum + count, 0);
  if (total === 0) return null;
  let left = Math.ceil(total * share);
  for (const [bucket, count] of buckets.toSorted(([one], [other]) => one - other)) {
    left -= count;
    if (left <= 0) return upperBoundOf(bucket);
  }
  return null;
}

/** In milliseconds. */
function upperBoundOf(bucket: number): number {
  const [exponent, quarter] = [Math.floor(bucket / QUARTERS), bucket % QUARTERS];
  // Whole microseconds below four are too few for quarters.
  if (exponent < 2) return 2 ** (exponent + 1) / 1000;
  return (2 ** exponent * (1 + (quarter + 1) / QUARTERS)) / 1000;
}

export function mergeBuckets(lists: readonly (readonly BucketCount[])[]): readonly BucketCount[] {
  const merged = new Map<number, number>();
  for (const [bucket, count] of lists.flat()) merged.set(bucket, (merged.get(bucket) ?? 0) + count);
  return [...merged].sort(([one], [other]) => one - other);
}
