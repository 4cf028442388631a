/** The newest ids of streams that were added. The memory grows with their number, because most connections have few. */

/** Powers of two. V8 keeps the first ones inline. */
const FIRST = 16;
const REMEMBERED = 256;

export class RecentIds {
  /** Each id is at the count of the ids before it, modulo the length. */
  #ids = new Int32Array(FIRST);
  #count = 0;

  add(id: number): void {
    if (this.#count === this.#ids.length && this.#count < REMEMBERED) {
      const larger = new Int32Array(this.#count * 2);
      larger.set(this.#ids);
      this.#ids = larger;
    }
    this.#ids[this.#count++ & (this.#ids.length - 1)] = id;
  }

  has(id: number): boolean {
    return this.#ids.includes(id);
  }
}
