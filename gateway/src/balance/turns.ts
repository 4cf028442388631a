/** Weighted round-robin, smooth: a heavy target's turns are spread between those of the others. */
import type { Algorithm, Entry, Fit } from "./algorithm.ts";

/** Each round every fit entry gains its weight; the richest has its turn and pays for all (nginx does the same). */
export class Turns implements Algorithm {
  readonly #entries: readonly Entry[];
  readonly #credit: number[];

  constructor(entries: readonly Entry[]) {
    this.#entries = entries;
    this.#credit = entries.map(() => 0);
  }

  pick(fit: Fit): number {
    let [total, richest, most] = [0, -1, Number.NEGATIVE_INFINITY];
    for (const [at, { weight }] of this.#entries.entries()) {
      if (!fit.fits(at)) continue;
      total += weight;
      const credit = (this.#credit[at] ?? 0) + weight;
      this.#credit[at] = credit;
      if (credit > most) [richest, most] = [at, credit];
    }
    if (richest >= 0) this.#credit[richest] = most - total;
    return richest;
  }
}
