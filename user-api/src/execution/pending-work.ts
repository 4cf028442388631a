/** Tracks work that has begun and not ended. */
export class PendingWork {
  readonly #works = new Set<Promise<unknown>>();

  add<Result>(work: Promise<Result>): Promise<Result> {
    const forget = (): void => void this.#works.delete(work);
    this.#works.add(work);
    work.then(forget, forget);
    return work;
  }

  get size(): number {
    return this.#works.size;
  }

  /** Resolves when all work that is pending now has ended; later work is not awaited. */
  async settled(): Promise<void> {
    await Promise.allSettled(this.#works);
  }
}
