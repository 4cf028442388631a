/** What was made of texts that were asked for last: most requests show what others showed before. */

/** A longer text is not remembered, so that nobody fills the memory. */
const MAX_LENGTH = 256;

/**
 * Two generations of a map: when the young one is full it becomes the old one, whose texts are taken over as they are
 * asked for. A map of strings compares texts only where their hashes agree, which V8 makes with a seed of the process.
 */
export class Recent<Value> {
  readonly #make: (text: string) => Value;
  readonly #size: number;
  #young = new Map<string, Value>();
  #old: ReadonlyMap<string, Value> = new Map();

  /** @param size How many are kept, at the most twice this. */
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
