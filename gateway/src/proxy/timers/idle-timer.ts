/** A timer that is restarted often: starting and stopping it are usually mere assignments. */
/** Lateness in milliseconds above which an expired timer is attributed to a blocked event loop. */
const LATE = 500;

export class IdleTimer {
  readonly #alarm: () => void;
  #timer: NodeJS.Timeout | null = null;
  /** When the underlying timer fires. */
  #look = 0;
  /** Whether expiry was already postponed once because of a blocked event loop; it is postponed only once. */
  #isExcused = false;
  /** Expiry by `performance.now()`; Infinity: stopped. */
  #due = Number.POSITIVE_INFINITY;

  constructor(alarm: () => void) {
    this.#alarm = alarm;
  }

  /** Expires after this many milliseconds unless it is restarted or stopped. */
  start(milliseconds: number, now = performance.now()): void {
    this.#due = now + milliseconds;
    if (this.#timer !== null && this.#look <= this.#due) return;
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#arm(milliseconds, this.#due);
  }

  stop(): void {
    this.#due = Number.POSITIVE_INFINITY;
  }

  /** Also clears the underlying timer. */
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
    // Data that arrived while the event loop was blocked must be read before the timer may expire.
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
