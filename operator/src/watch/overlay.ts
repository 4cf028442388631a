/** A read-only map that replaces some values of another, at the cost of the replaced values alone. */

/** @param over undefined: absent, also when the base has the key. The base must not change while this is read. */
export function overlay<Value>(
  base: ReadonlyMap<string, Value>,
  over: ReadonlyMap<string, Value | undefined>,
): ReadonlyMap<string, Value> {
  return new Overlay(base, over);
}

class Overlay<Value> implements ReadonlyMap<string, Value> {
  readonly #base: ReadonlyMap<string, Value>;
  readonly #over: ReadonlyMap<string, Value | undefined>;
  readonly size: number;

  constructor(base: ReadonlyMap<string, Value>, over: ReadonlyMap<string, Value | undefined>) {
    this.#base = base;
    this.#over = over;
    let { size } = base;
    for (const [key, value] of over) size += Number(value !== undefined) - Number(base.has(key));
    this.size = size;
  }

  get(key: string): Value | undefined {
    return this.#over.has(key) ? this.#over.get(key) : this.#base.get(key);
  }

  has(key: string): boolean {
    return this.get(key) !== undefined;
  }

  *entries(): MapIterator<[string, Value]> {
    for (const [key, below] of this.#base) {
      const value = this.#over.has(key) ? this.#over.get(key) : below;
      if (value !== undefined) yield [key, value];
    }
    for (const [key, value] of this.#over) if (value !== undefined && !this.#base.has(key)) yield [key, value];
  }

  *keys(): MapIterator<string> {
    for (const [key] of this.entries()) yield key;
  }

  *values(): MapIterator<Value> {
    for (const [, value] of this.entries()) yield value;
  }

  [Symbol.iterator](): MapIterator<[string, Value]> {
    return this.entries();
  }

  forEach(run: (value: Value, key: string, map: ReadonlyMap<string, Value>) => void): void {
    for (const [key, value] of this.entries()) run(value, key, this);
  }
}
