/** How long a target takes to answer: an average that rises at once, falls slowly, and is forgotten after a while. */

/** Milliseconds in which a sample loses about two thirds of its weight. */
const FADE = 10_000;
/** What a failed try counts as, in milliseconds: else a target that refuses at once would seem the fastest. */
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

  /** Milliseconds. It fades while nothing is sent there, so that a target that was slow gets another chance. */
  at(now: number): number {
    return this.#average * Math.exp(-Math.max(0, now - this.#at) / FADE);
  }
}
