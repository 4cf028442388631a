/** A number of events per connection: a burst, and a rate at which the burst is restored. */

export interface BudgetLimits {
  readonly burst: number;
  /** Per second. */
  readonly rate: number;
}

export class Budget {
  readonly #limits: BudgetLimits;
  #left: number;
  /** Up to when `#left` was restored, by `performance.now()`. */
  #restoredAt = performance.now();

  constructor(limits: BudgetLimits) {
    this.#limits = limits;
    this.#left = limits.burst;
  }

  /** Counts an event. Returns false when the budget is exhausted. */
  spend(): boolean {
    if (this.#left <= 0) this.#restore();
    this.#left--;
    return this.#left >= 0;
  }

  /** Allows more events, up to the burst. */
  earn(events: number): void {
    this.#left = Math.min(this.#limits.burst, this.#left + events);
  }

  /** The clock is read only when the budget is used up, not for every event. */
  #restore(): void {
    const now = performance.now();
    const { burst, rate } = this.#limits;
    this.#left = Math.min(burst, this.#left + Math.floor(((now - this.#restoredAt) * rate) / 1000));
    this.#restoredAt = now;
  }
}
