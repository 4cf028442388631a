/** The entry that costs least, in turn among equals: least-connections and latency. */
import type { Algorithm, Entry, Fit } from "./algorithm.ts";
import { Turns } from "./turns.ts";

export class Cheapest implements Algorithm {
  readonly #entries: readonly Entry[];
  readonly #cost: (entry: Entry) => number;
  readonly #turns: Turns;

  constructor(entries: readonly Entry[], cost: (entry: Entry) => number) {
    this.#entries = entries;
    this.#cost = cost;
    this.#turns = new Turns(entries);
  }

  pick(fit: Fit): number {
    let least = Number.POSITIVE_INFINITY;
    const costs = this.#entries.map((entry, at) => {
      if (!fit.fits(at)) return Number.NaN;
      const cost = this.#cost(entry);
      if (cost < least) least = cost;
      return cost;
    });
    return this.#turns.pick({ fits: (at) => costs[at] === least });
  }
}

/** Requests under way in proportion to the weight. */
export const byConnections = ({ member, weight }: Entry): number => member.inFlight / weight;

/** How long the next request would wait, by how long others did and how many wait there. */
export const byLatency =
  (now: () => number) =>
  ({ member, weight }: Entry): number =>
    (member.latency.at(now()) * (member.inFlight + 1)) / weight;
