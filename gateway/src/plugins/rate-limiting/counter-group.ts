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
