/**
 * Time limits for a peer that has to send or read data: a maximum silence and a minimum rate. Time counts only while
 * data is due. Each transferred byte adds time, at most up to the silence limit, so that an earlier fast transfer does
 * not excuse a stall.
 */
import type { IdleTimer } from "./idle-timer.ts";

export interface MinRateLimits {
  /** Maximum milliseconds without data. */
  readonly silence: number;
  /** Minimum bytes per second; 0: no minimum. */
  readonly rate: number;
  /** Initial milliseconds of grace. */
  readonly grace: number;
}

export class MinRateTimer {
  readonly #watchdog: IdleTimer;
  readonly #limits: MinRateLimits;
  /** Remaining milliseconds. */
  #left = 0;
  /** Start of the running period by `performance.now()`; -1: paused. */
  #since = -1;
  /** Byte count up to which time has been credited. */
  #bytes = 0;

  /** @param watchdog Expires when no time is left */
  constructor(watchdog: IdleTimer, limits: MinRateLimits) {
    this.#watchdog = watchdog;
    this.#limits = limits;
    this.reset(0);
  }

  /**
   * Restarts the limits, paused until `resume`.
   *
   * @param bytes Byte count so far
   */
  reset(bytes: number): void {
    const { silence, grace } = this.#limits;
    this.#left = Math.min(silence, grace);
    this.#since = -1;
    this.#bytes = bytes;
  }

  /**
   * Starts to count time, because data is due.
   *
   * @param bytes Byte count so far
   * @param most Milliseconds of silence still allowed, if some have already passed
   * @returns remaining milliseconds
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

  /**
   * Stops counting time, because no data is due.
   *
   * @param bytes Byte count so far
   */
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
