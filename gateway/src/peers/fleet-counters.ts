/** Counters of `policy: fleet`: all nodes of the fleet count together. */
import type { Counter, CounterOptions, CounterResult } from "@sluice/plugin-sdk";
import type { LeaseMemory } from "../counters/fleet/lessee/lease-words.ts";
import type { LeasingCounters, WorkerTokens } from "../counters/fleet/lessee/worker-leases.ts";
import type { FleetPeer } from "./fleet-peer.ts";

/** Maximum of `Counter.amount`. */
const MAX_AMOUNT = 2 ** 24;

export class FleetCounters implements LeasingCounters {
  readonly #peer: FleetPeer;

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
    return this.#peer.take(counters, fallback);
  }

  async takeForWorker(counters: readonly Counter[], options: CounterOptions): Promise<WorkerTokens> {
    const result = await this.incrementBelowLimit(counters, options);
    return { ...result, leases: counters.map((counter) => this.#peer.placeOf(counter)) };
  }

  refill(counter: Counter): void {
    this.#peer.refill(counter);
  }

  /** Reads the values; tokens that other nodes hold count as used. Other amounts than 0 are refused. */
  async addAmount(counters: readonly Counter[], amount: number): Promise<readonly number[]> {
    if (amount !== 0) throw new Error("the fleet counts requests, not amounts");
    return Promise.all(counters.map((counter) => this.#peer.read(counter)));
  }

  /** Does nothing: the connections belong to the node. */
  async close(): Promise<void> {}
}
