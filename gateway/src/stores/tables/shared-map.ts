/** Persistent maps that share unchanged entries with the map that they were made from. */

/** Immutable. */
export class SharedMap<Value> {
  readonly #base: ReadonlyMap<string, Value>;
  /** Undefined: deleted, even if the base has it. */
  readonly #over: ReadonlyMap<string, Value | undefined>;
  readonly size: number;

  constructor(
    base: ReadonlyMap<string, Value> = new Map(),
    { over = new Map(), size = base.size }: { over?: ReadonlyMap<string, Value | undefined>; size?: number } = {},
  ) {
    this.#base = base;
    this.#over = over;
    this.size = size;
  }

  get(key: string): Value | undefined {
    return this.#over.get(key) ?? (this.#over.has(key) ? undefined : this.#base.get(key));
  }

  /** Sorted. */
  sortedKeys(): readonly string[] {
    return sorted(this, () => {
      if (this.#over.size === 0) return sorted(this.#base, () => [...this.#base.keys()].sort(inOrder));
      const stay = sorted(this.#base, () => [...this.#base.keys()].sort(inOrder)).filter((key) => !this.#over.has(key));
      return merge(stay, [...this.#over].flatMap(([key, value]) => (value === undefined ? [] : [key])).sort(inOrder));
    });
  }

  /**
   * A copy with these changes; undefined deletes a key. The cost is proportional to the number of changes, and
   * occasionally higher.
   */
  with(changes: ReadonlyMap<string, Value | undefined>): SharedMap<Value> {
    if (changes.size === 0) return this;
    const over = new Map(this.#over);
    let { size } = this;
    for (const [key, value] of changes) {
      size += Number(value !== undefined) - Number(this.get(key) !== undefined);
      over.set(key, value);
    }
    // At this limit, copying the changes each time costs as much as occasionally copying the whole map.
    if (over.size < FEW + Math.sqrt(2 * this.#base.size)) return new SharedMap(this.#base, { over, size });
    const whole = new Map(this.#base);
    for (const [key, value] of over) {
      if (value === undefined) whole.delete(key);
      else whole.set(key, value);
    }
    return new SharedMap(whole);
  }
}

/** Up to this number of changes are kept separately, even if the map is small. */
const FEW = 64;

const inOrder = (one: string, other: string): number => (one < other ? -1 : one > other ? 1 : 0);

const known = new WeakMap<object, readonly string[]>();

function sorted(map: object, make: () => readonly string[]): readonly string[] {
  const keys = known.get(map) ?? make();
  known.set(map, keys);
  return keys;
}

function merge(one: readonly string[], other: readonly string[]): readonly string[] {
  const merged: string[] = [];
  let index = 0;
  for (const key of one) {
    for (let next = other[index]; next !== undefined && next < key; next = other[++index]) merged.push(next);
    merged.push(key);
  }
  return [...merged, ...other.slice(index)];
}

/** Collects changes to a map before they are applied. */
export class MapDraft<Value> {
  readonly #before: SharedMap<Value>;
  readonly #changes = new Map<string, Value | undefined>();

  constructor(before: SharedMap<Value>) {
    this.#before = before;
  }

  get(key: string): Value | undefined {
    return this.#changes.get(key) ?? (this.#changes.has(key) ? undefined : this.#before.get(key));
  }

  set(key: string, value: Value | undefined): void {
    this.#changes.set(key, value);
  }

  finish(): SharedMap<Value> {
    return this.#before.with(this.#changes);
  }
}
