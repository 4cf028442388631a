/** How many connections each address has, where that is limited. */
export class AddressCounts {
  readonly #limit: number;
  readonly #counts = new Map<string, number>();

  /** @param limit 0: none, and nothing is counted. */
  constructor(limit: number) {
    this.#limit = limit;
  }

  /** False: the address has as many as it may have. */
  enter(address: string): boolean {
    if (this.#limit === 0) return true;
    const count = this.#counts.get(address) ?? 0;
    if (count >= this.#limit) return false;
    this.#counts.set(address, count + 1);
    return true;
  }

  leave(address: string): void {
    const count = this.#counts.get(address) ?? 0;
    if (count > 1) this.#counts.set(address, count - 1);
    else this.#counts.delete(address);
  }
}
