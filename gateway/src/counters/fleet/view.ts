/** Which node of a fleet owns which counter. */
import type { Counter } from "@sluice/plugin-sdk";
import { mixHash } from "../../balance/algorithms/hash-ring.ts";
import { keyedHash } from "../../shared-memory/keyed-hash.ts";
import { counterId } from "./accounts.ts";

/**
 * The nodes of a fleet, as one authority lists them. A node has a new name after each start, so that nothing that was
 * leased to the former process is taken for a lease of the new one.
 */
export interface FleetView {
  /** Grows by at least 1 with each change. A node never goes back to a smaller epoch. */
  readonly epoch: number;
  /** The nodes that own counters. */
  readonly members: readonly string[];
  /** Nodes that own no counters any more, but may still have leases and reports: those that shut down. */
  readonly leaving: readonly string[];
}

/** Every node of a fleet must compute the same hashes, so the key is constant. */
const HASH_KEY = new Uint32Array([0x736c7569, 0x63652066, 0x6c656574, 0x2076657a]);

/**
 * The text from whose hash the owner of a counter is computed. All windows of a counter whose window slides have the same
 * owner, because it must know the window before.
 */
export const ownershipKey = (counter: Counter): string =>
  counter.sliding === undefined ? counterId(counter) : `${counter.period}:${counter.name}`;

/** The hash of a counter or of a node, from which the owner is computed. */
export const ownershipHash = (name: string): number => keyedHash(name, HASH_KEY)[0] ?? 0;

/**
 * Rendezvous hashing (Thaler and Ravishankar, 1998): the member with the highest score owns the counter. When a member
 * leaves, only its counters move; when one joins, it takes an equal share from each.
 */
export class Ownership {
  readonly view: FleetView;
  readonly #members: readonly { readonly name: string; readonly hash: number }[];

  constructor(view: FleetView) {
    this.view = view;
    // Sorted, so that equal scores have the same winner on every node.
    this.#members = view.members.toSorted().map((name) => ({ name, hash: ownershipHash(name) }));
  }

  /** Undefined: the view has no members. */
  ownerOf(hash: number): string | undefined {
    let owner: string | undefined;
    let highest = -1;
    for (const member of this.#members) {
      const score = mixHash(hash ^ member.hash);
      if (score <= highest) continue;
      highest = score;
      owner = member.name;
    }
    return owner;
  }

  /** All nodes that may have leases: members and leaving nodes. */
  participants(): readonly string[] {
    return [...this.view.members, ...this.view.leaving];
  }
}
