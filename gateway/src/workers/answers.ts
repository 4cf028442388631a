/** Answers to one question, for all who ask it before it is answered. */
export class Answers {
  readonly #put: () => void;
  readonly #patience: number;
  #awaited: PromiseWithResolvers<void> | null = null;
  #signs = 0;

  /** @param patience Milliseconds without a sign after which an answer is not waited for any longer. */
  constructor(put: () => void, patience: number) {
    this.#put = put;
    this.#patience = patience;
  }

  /** Resolves when the answer has come, or nothing has for too long. */
  async ask(): Promise<void> {
    if (this.#awaited === null) {
      this.#awaited = Promise.withResolvers();
      this.#put();
    }
    const arrived = this.#awaited.promise.then(() => true);
    for (;;) {
      const signs = this.#signs;
      const late = Promise.withResolvers<false>();
      const timer = setTimeout(() => late.resolve(false), this.#patience);
      const isOver = await Promise.race([arrived, late.promise]);
      clearTimeout(timer);
      if (isOver || this.#signs === signs) return;
    }
  }

  /** A part of it has come. */
  sign(): void {
    this.#signs++;
  }

  arrive(): void {
    this.#awaited?.resolve();
    this.#awaited = null;
  }
}
