/**
 * How long somebody may go on who owes us bytes, or has to take ours: a time in which nothing comes, and so many bytes a
 * second. Time runs only while something is owed, and every byte buys some, up to the first of the two: who was fast once
 * is not slow for ever.
 */
import type { IdleTimer } from "./idle-timer.ts";

export interface MinRateLimits {
  /** Milliseconds in which something must come. */
  readonly silence: number;
  /** Bytes a second; 0: any. */
  readonly rate: number;
  /** Milliseconds that are given at first. */
  readonly grace: number;
}

export class MinRateTimer {
  readonly #watchdog: IdleTimer;
  readonly #limits: MinRateLimits;
  /** Milliseconds that are left. */
  #left = 0;
  /** Since when time runs, by `performance.now()`; -1: it does not. */
  #since = -1;
  /** Of which the time has been bought. */
  #bytes = 0;

  /** @param watchdog Goes off when the time is over */
  constructor(watchdog: IdleTimer, limits: MinRateLimits) {
    this.#watchdog = watchdog;
    this.#limits = limits;
    this.reset(0);
  }

  /** Nothing is owed yet. @param bytes That have come before */
  reset(bytes: number): void {
    const { silence, grace } = this.#limits;
    this.#left = Math.min(silence, grace);
    this.#since = -1;
    this.#bytes = bytes;
  }

  /**
   * More is owed.
   *
   * @param bytes So far
   * @param most Milliseconds of silence that are left, when some are spent
   * @returns milliseconds that are left
   */
  resume(bytes: number, most = this.#limits.silence): number {
    if (this.#limits.rate === 0) {
      this.#watchdog.start(most);
      return most;
    }
    const now = performance.now();
    this.#settle(bytes, now);
    this.#since = now;
    const left = Math.max(Math.min(this.#left, most), 0);
    this.#watchdog.start(left, now);
    return left;
  }

  /** Nothing is owed for now. @param bytes So far */
  pause(bytes: number): void {
    if (this.#since >= 0) this.#settle(bytes, performance.now());
    this.#since = -1;
    this.#watchdog.stop();
  }

  #settle(bytes: number, now: number): void {
    const { silence, rate } = this.#limits;
    const bought = ((bytes - this.#bytes) * 1000) / rate;
    const spent = this.#since < 0 ? 0 : now - this.#since;
    this.#left = Math.min(silence, this.#left - spent + bought);
    this.#bytes = bytes;
  }
}
