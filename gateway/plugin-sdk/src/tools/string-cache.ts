/** Caches values computed from recent strings: most requests repeat strings of earlier ones. */

import { LruCache } from "./lru-cache.ts";

/** Longer strings are not cached, to limit the memory. */
const MAX_LENGTH = 256;

/** Safe for strings from clients: V8 seeds its hashes per process, so clients cannot construct collisions. */
export class StringCache<Value extends object | string | number> {
  readonly #compute: (text: string) => Value;
  readonly #values: LruCache<Value>;

  /** @param size At most twice this number of strings are kept. */
  constructor(compute: (text: string) => Value, size = 4096) {
    this.#compute = compute;
    this.#values = new LruCache(size);
  }

  of(text: string): Value {
    const known = this.#values.get(text);
    if (known !== undefined) return known;
    const value = this.#compute(text);
    if (text.length <= MAX_LENGTH) this.#values.set(text, value);
    return value;
  }
}
