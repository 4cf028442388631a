/** The clock of tests of health checks and of lookups. */
import type { CheckClock } from "./check-clock.ts";

/** A clock that advances only when the test calls `pass`. */
export class FakeClock implements CheckClock {
  #now = 0;
  readonly #due = new Set<{ readonly at: number; readonly run: () => void }>();

  now(): number {
    return this.#now;
  }

  get waiting(): number {
    return this.#due.size;
  }

  after(milliseconds: number, run: () => void): () => void {
    const entry = { at: this.#now + milliseconds, run };
    this.#due.add(entry);
    return () => this.#due.delete(entry);
  }

  /** Advances the clock, and runs everything that becomes due. */
  async pass(milliseconds: number): Promise<void> {
    const end = this.#now + milliseconds;
    for (;;) {
      const [next] = [...this.#due].filter(({ at }) => at <= end).toSorted((a, b) => a.at - b.at);
      if (next === undefined) break;
      this.#due.delete(next);
      this.#now = next.at;
      next.run();
      await new Promise(setImmediate);
    }
    this.#now = end;
  }
}
