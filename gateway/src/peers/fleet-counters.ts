/** Counters of `policy: fleet`: all nodes of the fleet count together. */
import { hash } from "node:crypto";
import { type Counter, type CounterOptions, type CounterResult, StringCache } from "@sluice/plugin-sdk";
import { isSaved } from "../counters/fleet/accounts.ts";
import type { LeaseMemory } from "../counters/fleet/lessee/lease-words.ts";
import type { LeasingCounters, WorkerTokens } from "../counters/fleet/lessee/worker-leases.ts";
import type { FleetPeer } from "./fleet-peer.ts";

/** Maximum of `Counter.amount`. */
const MAX_AMOUNT = 2 ** 24;

export class FleetCounters implements LeasingCounters {
  readonly #peer: FleetPeer;
  /**
   * The names of saved counters: addresses and identifiers of clients must not be in files. 132 bits of a hash are enough
   * to distinguish counters.
   */
  readonly #savedNames = new StringCache((name) => hash("sha256", name, "base64url").slice(0, 22));

  constructor(peer: FleetPeer) {
    this.#peer = peer;
  }

  get memory(): LeaseMemory {
    return this.#peer.memory;
  }

  incrementBelowLimit(
    counters: readonly Counter[],
    { fleet_fallback: fallback = "share" }: CounterOptions,
  ): CounterResult | Promise<CounterResult> {
    const [{ amount = 1 } = {}] = counters;
    if (counters.some((counter) => (counter.amount ?? 1) !== amount))
      return Promise.reject(new Error("the counters of a request must have the same amount"));
    // No more tokens can be held at once.
    if (amount > MAX_AMOUNT) return Promise.reject(new Error(`a request costs more than ${MAX_AMOUNT}`));
    return this.#peer.take(this.#known(counters), fallback);
  }

  async takeForWorker(counters: readonly Counter[], options: CounterOptions): Promise<WorkerTokens> {
    const result = await this.incrementBelowLimit(counters, options);
    return { ...result, leases: this.#known(counters).map((counter) => this.#peer.placeOf(counter)) };
  }

  refill(counter: Counter): void {
    for (const known of this.#known([counter])) this.#peer.refill(known);
  }

  /** Tokens that other nodes hold count as used. If the owner of a counter does not answer, it is told later. */
  addAmount(counters: readonly Counter[], amount: number): Promise<readonly number[]> {
    return Promise.all(this.#known(counters).map((counter) => this.#peer.add(counter, amount)));
  }

  /** Does nothing: the connections belong to the node. */
  async close(): Promise<void> {}

  /** The counters with the names by which the nodes know them. */
  #known(counters: readonly Counter[]): readonly Counter[] {
    if (!counters.some(isSaved)) return counters;
    return counters.map((counter) =>
      isSaved(counter) ? { ...counter, name: this.#savedNames.of(counter.name) } : counter,
    );
  }
}
