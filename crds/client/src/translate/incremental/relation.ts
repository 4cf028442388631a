/** Maps with several values for each key. */

const none: ReadonlySet<never> = new Set();

/** A set of values for each key. Keys without values take no memory. */
export class MultiMap<Key, Value> {
  readonly #sets = new Map<Key, Set<Value>>();

  get(key: Key): ReadonlySet<Value> {
    return this.#sets.get(key) ?? none;
  }

  keys(): Iterable<Key> {
    return this.#sets.keys();
  }

  add(key: Key, value: Value): void {
    this.#sets.getOrInsertComputed(key, () => new Set()).add(value);
  }

  delete(key: Key, value: Value): void {
    const values = this.#sets.get(key);
    values?.delete(value);
    if (values?.size === 0) this.#sets.delete(key);
  }
}

/** A relation that can be looked up from both sides, such as resources and what they refer to. */
export class Relation<Left, Right> {
  readonly #rights = new Map<Left, ReadonlySet<Right>>();
  readonly #lefts = new MultiMap<Right, Left>();

  rightsOf(left: Left): ReadonlySet<Right> {
    return this.#rights.get(left) ?? none;
  }

  leftsOf(right: Right): ReadonlySet<Left> {
    return this.#lefts.get(right);
  }

  /** All right sides that have a left side. */
  rights(): Iterable<Right> {
    return this.#lefts.keys();
  }

  /** Replaces the right sides of a left side. Returns the former ones. */
  set(left: Left, rights: ReadonlySet<Right>): ReadonlySet<Right> {
    const before = this.rightsOf(left);
    for (const right of before) if (!rights.has(right)) this.#lefts.delete(right, left);
    for (const right of rights) if (!before.has(right)) this.#lefts.add(right, left);
    if (rights.size > 0) this.#rights.set(left, rights);
    else this.#rights.delete(left);
    return before;
  }
}
