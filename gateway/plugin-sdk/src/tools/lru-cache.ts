/** A cache of limited size that keeps the recently used entries. */

/**
 * Two generations of a map: a full young generation becomes the old generation. Entries of the old generation are
 * copied to the young one when they are used. A hit in the young generation costs one lookup; an exact order of use
 * would cost two changes of a map for each hit.
 */
export class LruCache<Value extends object | string | number> {
  readonly #size: number;
  #young = new Map<string, Value>();
  #old = new Map<string, Value>();

  /** @param size Size of a generation; at most twice this number of entries are kept. */
  constructor(size: number) {
    this.#size = size;
  }

  get(key: string): Value | undefined {
    const value = this.#young.get(key);
    if (value !== undefined) return value;
    const older = this.#old.get(key);
    if (older !== undefined) this.set(key, older);
    return older;
  }

  set(key: string, value: Value): void {
    if (this.#young.size >= this.#size && !this.#young.has(key)) {
      this.#old = this.#young;
      this.#young = new Map();
    }
    this.#young.set(key, value);
  }

  delete(key: string): void {
    this.#young.delete(key);
    this.#old.delete(key);
  }
}
