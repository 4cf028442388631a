/** Limits the log lines that requests can cause: a repeated subject is logged once per period. */

/** Milliseconds within which a subject is logged once. */
const PERIOD = 10_000;
/** Maximum number of subjects logged within that time. */
const MAX_SUBJECTS = 50;

export class LogLimiter {
  readonly #now: () => number;
  readonly #logged = new Set<string>();
  #end = 0;
  #unlogged = 0;

  /** @param now A monotonic clock in milliseconds */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /**
   * Whether a line about the subject may be logged now.
   *
   * @returns Number of lines suppressed since the last allowed one; null: this one is suppressed too
   */
  allow(subject: string): number | null {
    const now = this.#now();
    if (now >= this.#end) {
      this.#end = now + PERIOD;
      this.#logged.clear();
    }
    if (this.#logged.has(subject) || this.#logged.size >= MAX_SUBJECTS) {
      this.#unlogged++;
      return null;
    }
    this.#logged.add(subject);
    const unlogged = this.#unlogged;
    this.#unlogged = 0;
    return unlogged;
  }
}
