/**
 * Maps that share with those that they were made from all that did not change: 256 buckets, or 4096 when it is large, of
 * which a change makes anew those that it touches. What differs between two of them is found by looking at the buckets
 * that differ.
 */

/** In bits: few buckets while they are small. */
const FEW = 8;
const MANY = 12;
/** Entries of a map that has few buckets, at most. */
const LARGE = 1 << 14;

/** A number of 12 bits for a key. */
export type Place = (key: string) => number;

const hexDigit = (text: string, at: number): number => {
  const code = text.charCodeAt(at);
  return (code & 15) + (code >> 6) * 9;
};

/** For UUIDs in lower case, whose first digits spread them: the map is in the order of its keys. */
export const byId: Place = (id) =>
  ((hexDigit(id, 0) << 8) | (hexDigit(id, 1) << 4) | hexDigit(id, 2)) & ((1 << MANY) - 1);

/** For any texts (FNV-1a): the map is in no order that means something. */
export const byHash: Place = (text) => {
  let hash = 0x811c9dc5;
  for (let index = 0; index < text.length; index++) hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
  return (hash ^ (hash >>> 12) ^ (hash >>> 24)) & ((1 << MANY) - 1);
};

type Bucket<Value> = ReadonlyMap<string, Value>;

const none: Bucket<never> = new Map<string, never>();
const noBuckets: readonly Bucket<never>[] = Array.from({ length: 1 << FEW }, () => none);
const noneOfMany: readonly Bucket<never>[] = Array.from({ length: 1 << MANY }, () => none);

/** One key that differs; undefined: the map does not have it. */
export interface Difference<Value> {
  readonly key: string;
  readonly before: Value | undefined;
  readonly after: Value | undefined;
}

export class BucketMap<Value> implements ReadonlyMap<string, Value> {
  readonly place: Place;
  readonly buckets: readonly Bucket<Value>[];
  readonly size: number;
  /** From a key's place to its bucket. */
  readonly #shift: number;

  /** An empty map, unless it gets the buckets of one that is there. */
  constructor(place: Place, buckets: readonly Bucket<Value>[] = noBuckets, size = 0) {
    this.place = place;
    this.buckets = buckets;
    this.size = size;
    this.#shift = buckets.length === 1 << MANY ? 0 : MANY - FEW;
    Object.freeze(this);
  }

  /** The map itself when it is one of these. */
  static of<Value>(map: ReadonlyMap<string, Value>, place: Place): BucketMap<Value> {
    return map instanceof BucketMap && map.place === place ? map : new BucketMap<Value>(place).with(map);
  }

  /** With these values; undefined takes a key out. The map itself when nothing changes. */
  with(changes: Iterable<readonly [string, Value | undefined]>): BucketMap<Value> {
    const touched = new Map<number, Map<string, Value>>();
    const grown = new Set<number>();
    let { size } = this;
    for (const [key, value] of changes) {
      const at = this.place(key) >> this.#shift;
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
    const isOrdered = this.place === byId;
    for (const [at, draft] of touched) buckets[at] = isOrdered && grown.has(at) ? inOrder(draft) : draft;
    const next = new BucketMap(this.place, buckets, size);
    const hasOutgrown = size > LARGE && buckets.length < noneOfMany.length;
    return hasOutgrown ? new BucketMap<Value>(this.place, noneOfMany).with(next) : next;
  }

  get(key: string): Value | undefined {
    return this.buckets[this.place(key) >> this.#shift]?.get(key);
  }

  has(key: string): boolean {
    return this.buckets[this.place(key) >> this.#shift]?.has(key) ?? false;
  }

  /** The entries whose keys have this place. */
  at(place: number): readonly (readonly [string, Value])[] {
    return [...(this.buckets[place >> this.#shift] ?? none)].filter(([key]) => this.place(key) === place);
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
 * The keys whose values are not the same object, or that only one of the maps has. Of two maps of which one was made
 * from the other it costs what they do not share.
 */
export function differences<Value>(
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
  one.place === other.place && one.buckets.length === other.buckets.length;

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
