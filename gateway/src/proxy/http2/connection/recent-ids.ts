/** The newest ids of streams that were added. The memory grows with their number, because most connections have few. */

/** Powers of two. V8 keeps the first ones inline. */
const FIRST = 16;
const REMEMBERED = 256;

const NO_IDS = new Int32Array(0);

export class RecentIds {
  /** Each id is at the count of the ids before it, modulo the length. */
  #ids = NO_IDS;
  #count = 0;

  add(id: number): void {
    if (this.#count === this.#ids.length && this.#count < REMEMBERED) {
      const larger = new Int32Array(Math.max(this.#count * 2, FIRST));
      larger.set(this.#ids);
      this.#ids = larger;
    }
    this.#ids[this.#count++ & (this.#ids.length - 1)] = id;
  }

  has(id: number): boolean {
    return this.#ids.includes(id);
  }
}
