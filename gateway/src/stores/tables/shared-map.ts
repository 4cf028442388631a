/** Maps that share what did not change with those that they were made from. */

/** Never changes. */
export class SharedMap<Value> {
  readonly #base: ReadonlyMap<string, Value>;
  /** Undefined: not there, whatever the base says. */
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

  /** In the order of their keys. */
  sortedKeys(): readonly string[] {
    return sorted(this, () => {
      if (this.#over.size === 0) return sorted(this.#base, () => [...this.#base.keys()].sort(inOrder));
      const stay = sorted(this.#base, () => [...this.#base.keys()].sort(inOrder)).filter((key) => !this.#over.has(key));
      return merge(stay, [...this.#over].flatMap(([key, value]) => (value === undefined ? [] : [key])).sort(inOrder));
    });
  }

  /** The map with these changes; undefined takes a key out. Costs as many steps as there are changes, now and then more. */
  with(changes: ReadonlyMap<string, Value | undefined>): SharedMap<Value> {
    if (changes.size === 0) return this;
    const over = new Map(this.#over);
    let { size } = this;
    for (const [key, value] of changes) {
      size += Number(value !== undefined) - Number(this.get(key) !== undefined);
      over.set(key, value);
    }
    // As dear to copy at every change as the whole is now and then.
    if (over.size < FEW + Math.sqrt(2 * this.#base.size)) return new SharedMap(this.#base, { over, size });
    const whole = new Map(this.#base);
    for (const [key, value] of over) {
      if (value === undefined) whole.delete(key);
      else whole.set(key, value);
    }
    return new SharedMap(whole);
  }
}

/** Changes that are kept apart from the rest of a map however small it is. */
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

/** Changes to a map, before they are one with it. */
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
