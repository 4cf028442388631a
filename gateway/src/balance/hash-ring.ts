/**
 * Consistent hashing: a ring of slots, each of which belongs to one entry. Who owns a slot is found by rendezvous
 * (highest weighted score), not by points on the ring: when an entry goes, its slots go to the others in proportion to
 * their weights and no other slot moves; when one comes, it takes its share and nothing else changes hands.
 */
import type { BalancingAlgorithm, EligibleTargets, WeightedTarget } from "./algorithm.ts";
import { hashOf, mix } from "./hash.ts";
import { RoundRobin } from "./round-robin.ts";

const UNKNOWN = -1;

export class HashRing implements BalancingAlgorithm {
  readonly #entries: readonly WeightedTarget[];
  readonly #seeds: readonly number[];
  readonly #slots: number;
  /** Of every slot while all are fit, found at first use; many rings are never asked. */
  #owners: Int32Array | null = null;
  /** For requests with nothing to hash. */
  readonly #turns: RoundRobin;

  constructor(entries: readonly WeightedTarget[], slots: number) {
    this.#entries = entries;
    this.#seeds = entries.map(({ member }) => hashOf(member.address));
    this.#slots = slots;
    this.#turns = new RoundRobin(entries);
  }

  pick(fit: EligibleTargets, hash: number | null): number {
    if (hash === null) return this.#turns.pick(fit);
    this.#owners ??= new Int32Array(this.#slots).fill(UNKNOWN);
    const slot = hash % this.#slots;
    let owner = this.#owners[slot] ?? UNKNOWN;
    if (owner === UNKNOWN) {
      owner = this.#highest(slot, everyone);
      this.#owners[slot] = owner;
    }
    return owner >= 0 && fit.isEligible(owner) ? owner : this.#highest(slot, fit);
  }

  #highest(slot: number, fit: EligibleTargets): number {
    const place = Math.imul(slot, 0x9e3779b1);
    let [winner, most] = [-1, Number.NEGATIVE_INFINITY];
    for (const [at, { weight }] of this.#entries.entries()) {
      if (weight === 0 || !fit.isEligible(at)) continue;
      // Between 0 and 1, neither of them; -weight / ln(u) is then drawn so that each wins in proportion to its weight.
      const chance = (mix((this.#seeds[at] ?? 0) ^ place) + 0.5) / 2 ** 32;
      const score = -weight / Math.log(chance);
      if (score > most) [winner, most] = [at, score];
    }
    return winner;
  }
}

const everyone: EligibleTargets = { isEligible: () => true };
