/** A target's response time as an average that rises at once, falls slowly and decays without samples. */

/** Milliseconds in which a sample loses about two thirds of its weight. */
const FADE = 10_000;
/** Milliseconds that a failed try counts as; otherwise a target that refuses at once would seem the fastest. */
export const FAILED_TRY_LATENCY = 1000;

export class LatencyAverage {
  #average = 0;
  #at = 0;

  /** @param duration milliseconds */
  add(duration: number, now: number): void {
    const before = this.at(now);
    const kept = Math.exp(-Math.max(0, now - this.#at) / FADE);
    this.#average = duration > before ? duration : before * kept + duration * (1 - kept);
    this.#at = now;
  }

  /** Milliseconds. It decays while the target gets no requests, so that a slow target is tried again. */
  at(now: number): number {
    return this.#average * Math.exp(-Math.max(0, now - this.#at) / FADE);
  }
}
