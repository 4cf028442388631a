/** Counters grouped by plugin instance, so that a new counter replaces one of the largest group. */

/** The counters of one plugin instance, by name or key, in order of insertion. */
export class CounterGroup<Value> {
  readonly #values = new Map<string, Value>();
  /**
   * Created at the first removal and kept at the oldest counter. A new iterator would skip every removed entry that the
   * map still holds, about a million at the default capacity.
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

  /** False: the group is empty. */
  deleteOldest(): boolean {
    this.#byAge ??= this.#values.keys();
    let oldest = this.#byAge.next();
    if (oldest.done) {
      // An exhausted iterator does not see entries that are added later.
      this.#byAge = this.#values.keys();
      oldest = this.#byAge.next();
    }
    return !oldest.done && this.#values.delete(oldest.value);
  }
}

/** Sizes are below 2 ** SIZE_CLASSES. */
const SIZE_CLASSES = 31;

/** Number of groups of the highest class that are compared. */
const COMPARED = 16;

/**
 * Keeps every group in a class by power of two of its size, so that a change of size only costs something when it
 * changes the class. Finds the largest of the first COMPARED groups in the highest class. With more groups in that
 * class, the result has at least half the size of the largest.
 */
export class LargestFirst<Group extends { readonly size: number }> {
  readonly #classes: readonly Set<Group>[] = Array.from({ length: SIZE_CLASSES }, () => new Set());

  /** The group's size has increased by one. */
  grown(group: Group): void {
    const { size } = group;
    if (!isPowerOfTwo(size)) return;
    this.#of(size - 1)?.delete(group);
    this.#of(size)?.add(group);
  }

  /** The group's size has decreased by one. */
  shrunk(group: Group): void {
    const { size } = group;
    if (!isPowerOfTwo(size + 1)) return;
    this.#of(size + 1)?.delete(group);
    this.#of(size)?.add(group);
  }

  remove(group: Group): void {
    this.#of(group.size)?.delete(group);
  }

  clear(): void {
    for (const groups of this.#classes) groups.clear();
  }

  /** Undefined: every group is empty. */
  largest(): Group | undefined {
    for (let at = SIZE_CLASSES - 1; at >= 0; at--) {
      const groups = this.#classes[at];
      if (groups === undefined || groups.size === 0) continue;
      let largest: Group | undefined;
      let compared = 0;
      for (const group of groups) {
        if (largest === undefined || group.size > largest.size) largest = group;
        if (++compared === COMPARED) break;
      }
      return largest;
    }
    return undefined;
  }

  /** An empty group is in no class. */
  #of(size: number): Set<Group> | undefined {
    return this.#classes[31 - Math.clz32(size)];
  }
}

const isPowerOfTwo = (size: number): boolean => (size & (size - 1)) === 0;
