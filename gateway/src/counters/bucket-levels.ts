/**
 * The arithmetic of leaky buckets. A bucket is stored as one number: the time at which it will be empty (the
 * theoretical arrival time of the generic cell rate algorithm, ITU-T I.371). Times and levels are whole numbers of
 * units; one request leaks out in UNITS_PER_REQUEST units. So an interval that is a fraction of a millisecond causes no
 * rounding errors that add up.
 */
import type { Bucket, BucketResult } from "@sluice/plugin-sdk";

export const UNITS_PER_REQUEST = 1024;

/** Maximum milliseconds by which the clocks of two callers are expected to differ. */
export const CLOCK_TOLERANCE = 15_000;

/** @param interval Milliseconds in which one request leaks out */
export const unitsAt = (now: number, interval: number): number => Math.floor((now * UNITS_PER_REQUEST) / interval);

/** The level of a full bucket, in units. */
export const fullLevel = ({ burst }: Bucket): number => (1 + burst) * UNITS_PER_REQUEST;

/**
 * The level of a bucket, in units.
 *
 * @param rest Units until the bucket is empty; negative if it has been empty for this time
 */
export const levelOf = (rest: number, bucket: Bucket): number => Math.min(Math.max(rest, 0), fullLevel(bucket));

/**
 * Whether a bucket is fuller than different clocks explain: a clock was set back, or the burst was reduced. Such a
 * bucket is stored as a full one, which leaks from now on. Otherwise its client would be refused until it is no longer
 * overfull.
 */
export const isOverfull = (rest: number, bucket: Bucket): boolean =>
  rest > fullLevel(bucket) + unitsAt(CLOCK_TOLERANCE, bucket.interval);

/** Whether a bucket with this level, in units, admits a request. */
export const bucketAdmits = (level: number, { burst }: Bucket): boolean => level <= burst * UNITS_PER_REQUEST;

/** @param levels In units */
export const filledResult = (admitted: boolean, levels: readonly number[]): BucketResult => ({
  admitted,
  levels: levels.map((level) => level / UNITS_PER_REQUEST),
});
