/** Limits the log lines that requests can cause: a repeated subject is logged once per period. */

/** Length of a period in milliseconds. The first line after the end of a period begins the next one. */
const PERIOD = 10_000;
/** Maximum number of subjects logged in a period. */
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
   * @returns Null: the line is suppressed. Otherwise the number of lines, about any subject, that were suppressed since
   * the last allowed line
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
