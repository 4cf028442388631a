/**
 * Consistent hashing: a ring of slots, each owned by one target. The owner of a slot is found by rendezvous hashing
 * (highest weighted score), not by points on the ring. When a target is removed, its slots are distributed over the
 * other targets in proportion to their weights, and no other slot moves. A new target gets its share of the slots, and
 * all other slots keep their owners.
 */
import type { BalancingAlgorithm, EligibleTargets, WeightedTarget } from "./algorithm.ts";
import { RoundRobin } from "./round-robin.ts";

const UNKNOWN = -1;

export class HashRing implements BalancingAlgorithm {
  readonly #entries: readonly WeightedTarget[];
  readonly #seeds: readonly number[];
  readonly #slots: number;
  /** Owner of every slot while all targets are eligible. Found at first use, because many rings are never used. */
  #owners: Int32Array | null = null;
  /** For requests without a hash. */
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
      owner = this.#highest(slot, all);
      this.#owners[slot] = owner;
    }
    return owner >= 0 && fit.isEligible(owner) ? owner : this.#highest(slot, fit);
  }

  #highest(slot: number, fit: EligibleTargets): number {
    const place = Math.imul(slot, 0x9e3779b1);
    let [winner, most] = [-1, Number.NEGATIVE_INFINITY];
    for (const [at, { weight }] of this.#entries.entries()) {
      if (weight === 0 || !fit.isEligible(at)) continue;
      // Between 0 and 1, exclusive. With -weight / ln(chance) each target wins in proportion to its weight.
      const chance = (mixHash((this.#seeds[at] ?? 0) ^ place) + 0.5) / 2 ** 32;
      const score = -weight / Math.log(chance);
      if (score > most) [winner, most] = [at, score];
    }
    return winner;
  }
}

const all: EligibleTargets = { isEligible: () => true };

// The hashes are equal on every node and after every restart, and are not cryptographic.

/** FNV-1a over UTF-16 code units, mixed: 32 bits, unsigned. */
export function hashOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < text.length; at++) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  return mixHash(hash);
}

/** Every bit of the result depends on every bit of the value (the finaliser of MurmurHash3). */
export function mixHash(value: number): number {
  let hash = value ^ (value >>> 16);
  hash = Math.imul(hash, 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}
