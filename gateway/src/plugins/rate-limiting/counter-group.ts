/** The counters of one plugin instance, by their names or keys, with the one first that was added first. */

export class CounterGroup<Value> {
  readonly #values = new Map<string, Value>();
  /**
   * Made at the first removal and kept: it stands at the oldest counter. A new iterator would pass over every removed
   * entry that the map still holds, about a million at the default capacity.
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

  /** False: there was none. */
  deleteOldest(): boolean {
    this.#byAge ??= this.#values.keys();
    let oldest = this.#byAge.next();
    if (oldest.done) {
      // An iterator that has come to the end does not see what is added later.
      this.#byAge = this.#values.keys();
      oldest = this.#byAge.next();
    }
    return !oldest.done && this.#values.delete(oldest.value);
  }
}
