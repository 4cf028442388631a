/** Leaky buckets of `policy: local` for a single worker in the control thread. */
import type { Bucket, BucketResult } from "@sluice/plugin-sdk";
import {
  bucketAdmits,
  filledResult,
  fullLevel,
  isOverfull,
  levelOf,
  UNITS_PER_REQUEST,
  unitsAt,
} from "./bucket-levels.ts";
import { BoundedGroups, CounterGroup } from "./counter-groups.ts";

interface StoredBucket {
  readonly key: string;
  readonly interval: number;
  /** The time at which the bucket will be empty, in units. */
  emptyAt: number;
}

/** The buckets of one scope. */
interface BucketGroup {
  readonly buckets: CounterGroup<StoredBucket>;
  /** Continues with the next bucket to examine. */
  sweep: Iterator<StoredBucket>;
}

/** Number of buckets that are examined for each new one. Empty buckets are dropped, so memory stays bounded. */
const SWEPT = 2;

export interface ThreadBucketsOptions {
  readonly capacity: number;
  readonly onReplace?: (() => void) | undefined;
}

export class ThreadBuckets {
  readonly #groups = new Map<string, BucketGroup>();
  readonly #all: BoundedGroups<StoredBucket>;

  constructor({ capacity, onReplace }: ThreadBucketsOptions) {
    this.#all = new BoundedGroups(capacity, onReplace);
  }

  get size(): number {
    return this.#all.size;
  }

  fill(buckets: readonly Bucket[], now: number): BucketResult {
    for (const bucket of buckets) this.#correct(bucket, now);
    const levels = buckets.map((bucket) => this.#level(bucket, now));
    if (!buckets.every((bucket, at) => bucketAdmits(levels[at] ?? 0, bucket))) return filledResult(false, levels);
    const after = levels.map((level) => level + UNITS_PER_REQUEST);
    for (const [at, bucket] of buckets.entries()) this.#store(bucket, now, after[at] ?? 0);
    return filledResult(true, after);
  }

  levels(buckets: readonly Bucket[], now: number): readonly number[] {
    return buckets.map((bucket) => this.#level(bucket, now) / UNITS_PER_REQUEST);
  }

  clear(): void {
    for (const { buckets } of this.#groups.values()) this.#all.drop(buckets);
    this.#groups.clear();
  }

  #stored(bucket: Bucket): StoredBucket | undefined {
    return this.#groups.get(bucket.scope)?.buckets.get(keyOf(bucket));
  }

  #correct(bucket: Bucket, now: number): void {
    const stored = this.#stored(bucket);
    const time = unitsAt(now, bucket.interval);
    if (stored !== undefined && isOverfull(stored.emptyAt - time, bucket)) stored.emptyAt = time + fullLevel(bucket);
  }

  #level(bucket: Bucket, now: number): number {
    const stored = this.#stored(bucket);
    return stored === undefined ? 0 : levelOf(stored.emptyAt - unitsAt(now, bucket.interval), bucket);
  }

  #store(bucket: Bucket, now: number, level: number): void {
    const { scope, interval } = bucket;
    const emptyAt = unitsAt(now, interval) + level;
    const key = keyOf(bucket);
    const group = this.#groups.get(scope) ?? this.#open(scope);
    const stored = group.buckets.get(key);
    if (stored !== undefined) {
      stored.emptyAt = emptyAt;
      return;
    }
    this.#sweep(group, now);
    this.#all.add(group.buckets, key, { key, interval, emptyAt });
  }

  #open(scope: string): BucketGroup {
    const buckets = new CounterGroup<StoredBucket>();
    const group = { buckets, sweep: buckets.values()[Symbol.iterator]() };
    this.#groups.set(scope, group);
    return group;
  }

  #sweep(group: BucketGroup, now: number): void {
    for (let at = 0; at < SWEPT; at++) {
      const { value, done } = group.sweep.next();
      if (done) {
        group.sweep = group.buckets.values()[Symbol.iterator]();
        return;
      }
      if (value.emptyAt <= unitsAt(now, value.interval)) this.#all.delete(group.buckets, value.key);
    }
  }
}

const keyOf = ({ name, period, interval }: Bucket): string => `${name}:${period}:${interval}`;
