/** Keeps what was used last. */
export class Recent<Value> {
  readonly #values = new Map<string, Value>();
  readonly #maximum: number;
  /** The one that was used last: asking for it again changes no order. */
  #last: { readonly key: string; readonly value: Value } | undefined;

  constructor(maximum: number) {
    this.#maximum = maximum;
  }

  get(key: string): Value | undefined {
    if (this.#last?.key === key) return this.#last.value;
    const value = this.#values.get(key);
    if (value === undefined) return undefined;
    // A map keeps the order in which keys came.
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
