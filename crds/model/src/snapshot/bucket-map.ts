/**
 * Immutable maps: a changed map shares its unchanged buckets with the map from which it was made. A map has 256
 * buckets, or 4096 once it has been large; a change copies only the buckets that it touches. Two maps are compared
 * bucket by bucket, and shared buckets are skipped.
 */

/** A small map has `1 << FEW` buckets. */
const FEW = 8;
/** A large map has `1 << MANY` buckets. */
const MANY = 12;
/** A map with more entries than this is large. */
const LARGE = 1 << 14;

/** Returns a 12-bit hash of a key. */
export type KeyHash = (key: string) => number;

const hexDigit = (text: string, at: number): number => {
  const code = text.charCodeAt(at);
  return (code & 15) + (code >> 6) * 9;
};

/** For lower-case UUIDs: their first three hex digits. A map with this hash iterates in the order of its keys. */
export const hashOfId: KeyHash = (id) =>
  ((hexDigit(id, 0) << 8) | (hexDigit(id, 1) << 4) | hexDigit(id, 2)) & ((1 << MANY) - 1);

/** For any strings (FNV-1a). A map with this hash iterates in an arbitrary order. */
export const hashOfText: KeyHash = (text) => {
  let hash = 0x811c9dc5;
  for (let index = 0; index < text.length; index++) hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
  return (hash ^ (hash >>> 12) ^ (hash >>> 24)) & ((1 << MANY) - 1);
};

type Bucket<Value> = ReadonlyMap<string, Value>;

const none: Bucket<never> = new Map<string, never>();
const noBuckets: readonly Bucket<never>[] = Array.from({ length: 1 << FEW }, () => none);
const noneOfMany: readonly Bucket<never>[] = Array.from({ length: 1 << MANY }, () => none);

/** A key with different values in two maps; the value undefined means that the map does not have the key. */
export interface Difference<Value> {
  readonly key: string;
  readonly before: Value | undefined;
  readonly after: Value | undefined;
}

export class BucketMap<Value> implements ReadonlyMap<string, Value> {
  readonly keyHash: KeyHash;
  readonly buckets: readonly Bucket<Value>[];
  readonly size: number;
  /** Bits by which a key's hash is shifted to get its bucket. */
  readonly #shift: number;

  /** Makes an empty map, or a map with the given buckets. */
  constructor(place: KeyHash, buckets: readonly Bucket<Value>[] = noBuckets, size = 0) {
    this.keyHash = place;
    this.buckets = buckets;
    this.size = size;
    this.#shift = buckets.length === 1 << MANY ? 0 : MANY - FEW;
    Object.freeze(this);
  }

  /** A BucketMap with the entries of `map`; `map` itself when it already is one with this hash. */
  static of<Value>(map: ReadonlyMap<string, Value>, place: KeyHash): BucketMap<Value> {
    return map instanceof BucketMap && map.keyHash === place ? map : new BucketMap<Value>(place).with(map);
  }

  /** A copy of this map with the given values; undefined removes a key. Returns this map when nothing changes. */
  with(changes: Iterable<readonly [string, Value | undefined]>): BucketMap<Value> {
    const touched = new Map<number, Map<string, Value>>();
    const grown = new Set<number>();
    let { size } = this;
    for (const [key, value] of changes) {
      const at = this.keyHash(key) >> this.#shift;
      const bucket = touched.get(at) ?? this.buckets[at] ?? none;
      const before = bucket.get(key);
      if (before === value) continue;
      const draft = touched.get(at) ?? new Map(bucket);
      touched.set(at, draft);
      if (value === undefined) draft.delete(key);
      else draft.set(key, value);
      if (before === undefined) grown.add(at);
      size += Number(value !== undefined) - Number(before !== undefined);
    }
    if (touched.size === 0) return this;
    const buckets = this.buckets.slice();
    const isOrdered = this.keyHash === hashOfId;
    for (const [at, draft] of touched) buckets[at] = isOrdered && grown.has(at) ? inOrder(draft) : draft;
    const next = new BucketMap(this.keyHash, buckets, size);
    const hasOutgrown = size > LARGE && buckets.length < noneOfMany.length;
    return hasOutgrown ? new BucketMap<Value>(this.keyHash, noneOfMany).with(next) : next;
  }

  get(key: string): Value | undefined {
    return this.buckets[this.keyHash(key) >> this.#shift]?.get(key);
  }

  has(key: string): boolean {
    return this.buckets[this.keyHash(key) >> this.#shift]?.has(key) ?? false;
  }

  /** The entries whose keys have this hash. */
  at(place: number): Iterable<readonly [string, Value]> {
    const bucket = this.buckets[place >> this.#shift] ?? none;
    if (this.#shift === 0) return bucket;
    const found: [string, Value][] = [];
    for (const entry of bucket) {
      const hash = this.keyHash(entry[0]);
      if (hash === place) found.push(entry);
      // With `hashOfId`, a bucket is in the order of its keys, and so of their hashes.
      else if (hash > place && this.keyHash === hashOfId) break;
    }
    return found;
  }

  *entries(): MapIterator<[string, Value]> {
    for (const bucket of this.buckets) if (bucket.size > 0) yield* bucket;
  }

  *keys(): MapIterator<string> {
    for (const bucket of this.buckets) if (bucket.size > 0) yield* bucket.keys();
  }

  *values(): MapIterator<Value> {
    for (const bucket of this.buckets) if (bucket.size > 0) yield* bucket.values();
  }

  [Symbol.iterator](): MapIterator<[string, Value]> {
    return this.entries();
  }

  forEach(run: (value: Value, key: string, map: ReadonlyMap<string, Value>) => void): void {
    for (const [key, value] of this) run(value, key, this);
  }
}

const inOrder = <Value>(bucket: ReadonlyMap<string, Value>): Bucket<Value> =>
  new Map([...bucket].sort(([one], [other]) => (one < other ? -1 : 1)));

/**
 * The keys whose values are not the same object, or that only one of the maps has. When one map was made from the
 * other, the cost is proportional to the buckets that they do not share.
 */
export function bucketDifferences<Value>(
  before: ReadonlyMap<string, Value>,
  after: ReadonlyMap<string, Value>,
): readonly Difference<Value>[] {
  if (before === after) return [];
  const found: Difference<Value>[] = [];
  if (before instanceof BucketMap && after instanceof BucketMap && areAlike(before, after))
    for (let at = 0; at < after.buckets.length; at++) {
      const one: ReadonlyMap<string, Value> = before.buckets[at] ?? none;
      const other: ReadonlyMap<string, Value> = after.buckets[at] ?? none;
      if (one !== other) compare(one, other, found);
    }
  else compare(before, after, found);
  return found;
}

const areAlike = (one: BucketMap<unknown>, other: BucketMap<unknown>): boolean =>
  one.keyHash === other.keyHash && one.buckets.length === other.buckets.length;

function compare<Value>(
  before: ReadonlyMap<string, Value>,
  after: ReadonlyMap<string, Value>,
  found: Difference<Value>[],
): void {
  for (const [key, value] of before) if (!after.has(key)) found.push({ key, before: value, after: undefined });
  for (const [key, value] of after) {
    const known = before.get(key);
    if (known !== value) found.push({ key, before: known, after: value });
  }
}
