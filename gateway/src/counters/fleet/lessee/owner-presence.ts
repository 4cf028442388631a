/** Which owners answer the asks of a node. */
import { type FleetClock, OWNER_PATIENCE } from "../fleet-clock.ts";
import type { Ownership } from "../view.ts";

export class OwnerPresence {
  readonly #self: string;
  readonly #clock: FleetClock;
  /** Owners that have sent nothing for OWNER_PATIENCE although this node waits for an answer. */
  readonly #absent = new Set<string>();
  /** The time of the last message of each node. */
  readonly #heardAt = new Map<string, number>();

  constructor(self: string, clock: FleetClock) {
    this.#self = self;
    this.#clock = clock;
  }

  adopt(ownership: Ownership): void {
    this.#absent.clear();
    const participants = new Set(ownership.participants());
    for (const node of this.#heardAt.keys()) if (!participants.has(node)) this.#heardAt.delete(node);
  }

  /** The node has sent a message. */
  heard(node: string): void {
    this.#heardAt.set(node, this.#clock.now());
    this.#absent.delete(node);
  }

  /** An ask to the owner was not answered for OWNER_PATIENCE. The owner is absent if it has sent nothing else either. */
  miss(owner: string): void {
    const heardAt = this.#heardAt.get(owner) ?? Number.NEGATIVE_INFINITY;
    if (owner !== this.#self && this.#clock.now() - heardAt >= OWNER_PATIENCE) this.#absent.add(owner);
  }

  isAbsent(owner: string): boolean {
    return this.#absent.has(owner);
  }
}
