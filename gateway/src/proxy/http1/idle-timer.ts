/** A timer for what happens again and again: starting and stopping it are assignments, as long as it never goes off. */
/** Milliseconds by which a timer that goes off is late because this process did not come to it. */
const LATE = 500;

export class IdleTimer {
  readonly #alarm: () => void;
  #timer: NodeJS.Timeout | null = null;
  /** When the timer goes off to look. */
  #look = 0;
  /** Whether it has waited because it was late itself: once is enough. */
  #isExcused = false;
  /** By `performance.now()`; Infinity: nobody waits. */
  #due = Number.POSITIVE_INFINITY;

  constructor(alarm: () => void) {
    this.#alarm = alarm;
  }

  /** Goes off in so many milliseconds unless it is started again or stopped. */
  start(milliseconds: number, now = performance.now()): void {
    this.#due = now + milliseconds;
    if (this.#timer !== null && this.#look <= this.#due) return;
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#arm(milliseconds, this.#due);
  }

  stop(): void {
    this.#due = Number.POSITIVE_INFINITY;
  }

  /** Lets go of the timer too. */
  close(): void {
    this.stop();
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
  }

  #arm(milliseconds: number, due: number): void {
    this.#look = due;
    this.#timer = setTimeout(this.#wake, milliseconds).unref();
  }

  readonly #wake = (): void => {
    this.#timer = null;
    if (this.#due === Number.POSITIVE_INFINITY) return;
    const now = performance.now();
    const left = this.#due - now;
    // What came while nobody looked is read before anybody is told that nothing came.
    this.#isExcused = left <= 0 && !this.#isExcused && now - this.#look > LATE;
    if (left > 0 || this.#isExcused) {
      const wait = Math.max(Math.ceil(left), 1);
      this.#arm(wait, now + wait);
      return;
    }
    this.stop();
    this.#alarm();
  };
}
