/** A least-recently-used cache. */
export class Recent<Value> {
  readonly #values = new Map<string, Value>();
  readonly #maximum: number;
  /** The most recently used entry: getting it again does not change the order. */
  #last: { readonly key: string; readonly value: Value } | undefined;

  constructor(maximum: number) {
    this.#maximum = maximum;
  }

  get(key: string): Value | undefined {
    if (this.#last?.key === key) return this.#last.value;
    const value = this.#values.get(key);
    if (value === undefined) return undefined;
    // A Map iterates in insertion order.
    this.#values.delete(key);
    this.#values.set(key, value);
    this.#last = { key, value };
    return value;
  }

  set(key: string, value: Value): void {
    this.#values.delete(key);
    this.#values.set(key, value);
    this.#last = { key, value };
    if (this.#values.size <= this.#maximum) return;
    const [oldest] = this.#values.keys();
    if (oldest !== undefined) this.#values.delete(oldest);
  }
}
