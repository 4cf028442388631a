/** Counters grouped by scope: at the capacity, a new counter replaces a counter of the largest group. */

/** The counters of one scope, by name or key, in order of insertion. */
export class CounterGroup<Value> {
  readonly #values = new Map<string, Value>();
  /**
   * The iterator of `deleteOldest`, which continues after the last removal. A new iterator would have to skip every
   * removed entry that the map still holds, up to about a million at the default capacity.
   */
  #byAge: MapIterator<string> | undefined;

  get size(): number {
    return this.#values.size;
  }

  get(name: string): Value | undefined {
    return this.#values.get(name);
  }

  set(name: string, value: Value): void {
    this.#values.set(name, value);
  }

  delete(name: string): boolean {
    return this.#values.delete(name);
  }

  values(): Iterable<Value> {
    return this.#values.values();
  }

  /** Deletes the counter that was inserted first, and returns it. Undefined: the group is empty. */
  deleteOldest(): Value | undefined {
    this.#byAge ??= this.#values.keys();
    let oldest = this.#byAge.next();
    if (oldest.done) {
      // An exhausted iterator does not see entries that are added later.
      this.#byAge = this.#values.keys();
      oldest = this.#byAge.next();
    }
    if (oldest.done) return undefined;
    const value = this.#values.get(oldest.value);
    this.#values.delete(oldest.value);
    return value;
  }
}

/** Sizes are below 2 ** SIZE_CLASSES. */
const SIZE_CLASSES = 31;

/** Maximum number of groups of the highest class that `largest` compares. */
const COMPARED = 16;

/**
 * All groups, with at most `capacity` counters together. Every group that is not empty is in a class: class n has the
 * groups of 2 ** n to 2 ** (n + 1) - 1 counters. So a change of size costs something only when it changes the class.
 */
export class BoundedGroups<Value> {
  readonly #capacity: number;
  readonly #onReplace: (value: Value) => void;
  readonly #classes: readonly Set<CounterGroup<Value>>[] = Array.from({ length: SIZE_CLASSES }, () => new Set());
  #size = 0;

  /** @param onReplace Called for each counter that is replaced. Default: does nothing. */
  constructor(capacity: number, onReplace: (value: Value) => void = () => undefined) {
    this.#capacity = capacity;
    this.#onReplace = onReplace;
  }

  get size(): number {
    return this.#size;
  }

  get isFull(): boolean {
    return this.#size >= this.#capacity;
  }

  /** Adds a new counter to the group. At the capacity, it replaces the oldest counter of the largest group. */
  add(group: CounterGroup<Value>, name: string, value: Value): void {
    if (this.isFull) {
      const largest = this.largest();
      const oldest = largest?.deleteOldest();
      if (largest !== undefined && oldest !== undefined) {
        this.#shrunk(largest);
        this.#onReplace(oldest);
      }
    }
    group.set(name, value);
    const { size } = group;
    this.#size += 1;
    if (!isPowerOfTwo(size)) return;
    this.#of(size - 1)?.delete(group);
    this.#of(size)?.add(group);
  }

  delete(group: CounterGroup<Value>, name: string): void {
    if (group.delete(name)) this.#shrunk(group);
  }

  drop(group: CounterGroup<Value>): void {
    this.#of(group.size)?.delete(group);
    this.#size -= group.size;
  }

  /**
   * The largest of the first COMPARED groups in the highest class; undefined: every group is empty. If that class has
   * more groups, the result is at least half as large as the largest group.
   */
  largest(): CounterGroup<Value> | undefined {
    const groups = this.#classes.findLast(({ size }) => size > 0);
    let largest: CounterGroup<Value> | undefined;
    for (const group of groups?.values().take(COMPARED) ?? []) {
      if (largest === undefined || group.size > largest.size) largest = group;
    }
    return largest;
  }

  #shrunk(group: CounterGroup<Value>): void {
    const { size } = group;
    this.#size -= 1;
    if (!isPowerOfTwo(size + 1)) return;
    this.#of(size + 1)?.delete(group);
    this.#of(size)?.add(group);
  }

  /** The class of groups of this size. Undefined for 0, because an empty group is in no class. */
  #of(size: number): Set<CounterGroup<Value>> | undefined {
    return this.#classes[31 - Math.clz32(size)];
  }
}

const isPowerOfTwo = (size: number): boolean => (size & (size - 1)) === 0;
