/** Shares one pending report among all callers that request it before it arrives. */
export class PendingReport {
  readonly #send: () => void;
  readonly #timeout: number;
  #awaited: PromiseWithResolvers<void> | null = null;
  #progress = 0;

  /** @param patience Milliseconds without progress after which the callers stop waiting. */
  constructor(put: () => void, patience: number) {
    this.#send = put;
    this.#timeout = patience;
  }

  /** Resolves when the report has arrived, or after `patience` without progress. */
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

  /** A part of the report has arrived. */
  markProgress(): void {
    this.#progress++;
  }

  complete(): void {
    this.#awaited?.resolve();
    this.#awaited = null;
  }
}
