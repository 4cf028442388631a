/** What has begun and not ended. */
export class UnderWay {
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

  /** Resolves when everything that is under way now has ended, whatever has come since. */
  async settled(): Promise<void> {
    await Promise.allSettled(this.#works);
  }
}
