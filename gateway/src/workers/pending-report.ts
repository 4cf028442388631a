/** Answers to one question, for all who ask it before it is answered. */
export class PendingReport {
  readonly #send: () => void;
  readonly #timeout: number;
  #awaited: PromiseWithResolvers<void> | null = null;
  #progress = 0;

  /** @param patience Milliseconds without a sign after which an answer is not waited for any longer. */
  constructor(put: () => void, patience: number) {
    this.#send = put;
    this.#timeout = patience;
  }

  /** Resolves when the answer has come, or nothing has for too long. */
  async request(): Promise<void> {
    if (this.#awaited === null) {
      this.#awaited = Promise.withResolvers();
      this.#send();
    }
    const arrived = this.#awaited.promise.then(() => true);
    for (;;) {
      const signs = this.#progress;
      const late = Promise.withResolvers<false>();
      const timer = setTimeout(() => late.resolve(false), this.#timeout);
      const isOver = await Promise.race([arrived, late.promise]);
      clearTimeout(timer);
      if (isOver || this.#progress === signs) return;
    }
  }

  /** A part of it has come. */
  markProgress(): void {
    this.#progress++;
  }

  complete(): void {
    this.#awaited?.resolve();
    this.#awaited = null;
  }
}
