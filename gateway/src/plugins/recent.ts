/** Caches values computed from recent strings: most requests repeat strings of earlier ones. */

/** A longer string is not cached, to limit the memory. */
const MAX_LENGTH = 256;

/**
 * Two generations of a map: a full young generation becomes the old one, whose entries are moved back when they are
 * used. A map only compares strings whose hashes are equal, and V8 seeds these hashes per process.
 */
export class Recent<Value> {
  readonly #make: (text: string) => Value;
  readonly #size: number;
  #young = new Map<string, Value>();
  #old: ReadonlyMap<string, Value> = new Map();

  /** @param size Size of a generation; at most twice this number of entries are kept. */
  constructor(make: (text: string) => Value, size = 4096) {
    this.#make = make;
    this.#size = size;
  }

  of(text: string): Value {
    const known = this.#young.get(text);
    if (known !== undefined) return known;
    const found = this.#old.get(text) ?? this.#make(text);
    if (text.length > MAX_LENGTH) return found;
    if (this.#young.size >= this.#size) {
      this.#old = this.#young;
      this.#young = new Map();
    }
    this.#young.set(text, found);
    return found;
  }
}
