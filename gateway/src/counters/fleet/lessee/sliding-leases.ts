/** The leases of sliding windows that have not ended. What is left of them must not count in the next window. */
import type { LeasedCounter } from "./leased-counter.ts";

export class SlidingLeases {
  readonly #leases = new Set<LeasedCounter>();
  /** The earliest end of a window, in Unix milliseconds. */
  #earliest = Number.POSITIVE_INFINITY;

  /** Leases of fixed windows are ignored. */
  add(lease: LeasedCounter): void {
    const { sliding } = lease.counter;
    if (sliding === undefined) return;
    this.#leases.add(lease);
    this.#earliest = Math.min(this.#earliest, sliding.end);
  }

  /** No window ends earlier, in Unix milliseconds; Infinity: there is none. */
  get earliest(): number {
    return this.#earliest;
  }

  delete(lease: LeasedCounter): void {
    this.#leases.delete(lease);
  }

  /** Removes the leases whose windows have ended by `time`, in Unix milliseconds, and returns them. */
  takeEnded(time: number): readonly LeasedCounter[] {
    if (time < this.#earliest) return [];
    this.#earliest = Number.POSITIVE_INFINITY;
    const ended: LeasedCounter[] = [];
    for (const lease of this.#leases) {
      const end = lease.counter.sliding?.end ?? 0;
      if (end > time) this.#earliest = Math.min(this.#earliest, end);
      else ended.push(lease);
    }
    for (const lease of ended) this.#leases.delete(lease);
    return ended;
  }
}
