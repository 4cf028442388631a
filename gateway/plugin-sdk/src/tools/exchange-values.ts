/**
 * The values that one plugin keeps for exchanges between its phases. Each is a property of its exchange. A WeakMap would
 * serve as well, but V8 visits all of its entries at each scavenge: with one entry per request, that cost 4 µs per request.
 */
const entries = Symbol("values of plugins");

interface Entry {
  readonly owner: object;
  value: unknown;
  readonly next: Entry | undefined;
}

interface Holder {
  [entries]?: Entry | undefined;
}

/** @typeParam Value Not undefined. */
export class ExchangeValues<Value> {
  /** @param exchange An exchange, or a connection that is not HTTP */
  get(exchange: object): Value | undefined {
    return this.#entryOf(exchange)?.value as Value | undefined;
  }

  set(exchange: object, value: Value): void {
    const entry = this.#entryOf(exchange);
    const holder: Holder = exchange;
    if (entry === undefined) holder[entries] = { owner: this, value, next: holder[entries] };
    else entry.value = value;
  }

  delete(exchange: object): void {
    const entry = this.#entryOf(exchange);
    if (entry !== undefined) entry.value = undefined;
  }

  #entryOf(exchange: Holder): Entry | undefined {
    let entry = exchange[entries];
    while (entry !== undefined && entry.owner !== this) entry = entry.next;
    return entry;
  }
}
