/** What a node has leased of one counter, and its requests that wait for tokens. */
import type { Counter } from "@sluice/plugin-sdk";
import { type Account, counterId, wholeLimit } from "./accounts.ts";
import { HORIZON } from "./fleet-clock.ts";
import type { LeaseAsk, SeenTotal } from "./messages.ts";
import { ownershipHash } from "./view.ts";

/** A request that waits for tokens of one or more counters. */
export interface WaitingRequest {
  readonly id: number;
  readonly leases: readonly LeasedCounter[];
  readonly unowned: UnownedPolicy;
}

/**
 * What a node does with requests while no owner of their counter answers. share: the node admits at most the limit
 * divided by the number of nodes, rounded down. open: it admits all; closed: none.
 */
export type UnownedPolicy = "share" | "open" | "closed";

export class LeasedCounter {
  counter: Counter;
  readonly hash: number;
  readonly generation: number;
  readonly waiting = new Set<WaitingRequest>();
  owner: string | undefined;
  /** The owner that knows this account: it granted tokens, or confirmed a report. */
  knownBy: string | undefined;
  /** The time of the first ask that was not answered; undefined: no answer is outstanding. */
  askedAt: number | undefined;
  /** The time of the last attempt. */
  sentAt = 0;
  /** Until this time, requests are refused without an ask. */
  refusedUntil = 0;
  seen: SeenTotal | undefined;
  #granted = 0;
  #returned = 0;
  #used = 0;
  #sequence = 0;
  #chunk = 1;
  #chunkAt = Number.NEGATIVE_INFINITY;

  constructor(counter: Counter, generation: number) {
    this.counter = counter;
    this.generation = generation;
    this.hash = ownershipHash(counterId(counter));
  }

  get account(): Account {
    return {
      generation: this.generation,
      before: 0,
      granted: this.#granted,
      returned: this.#returned,
      used: this.#used,
    };
  }

  /** Tokens that the node may spend. */
  get held(): number {
    return this.#granted - this.#returned - this.#used;
  }

  get used(): number {
    return this.#used;
  }

  get sequence(): number {
    return this.#sequence;
  }

  /** So few tokens are held that more should be leased before they are needed. */
  get isLow(): boolean {
    return this.#chunk > 1 && this.held <= this.#chunk >> 1;
  }

  /** Requests admitted by the fleet, as far as this node knows; tokens that other nodes hold count as spent. */
  get count(): number {
    return Math.max(this.#used, (this.seen?.total ?? 0) - this.held);
  }

  receive(granted: number): void {
    this.#granted = Math.max(this.#granted, granted);
  }

  /** The ask was answered. Near the limit, owners grant less than was asked for. */
  end(): void {
    this.askedAt = undefined;
    this.#chunk = Math.min(this.#chunk, Math.max(1, this.held));
  }

  spend(): void {
    this.#used += 1;
  }

  /** Takes a token that no owner has granted. */
  borrow(): void {
    this.#granted += 1;
  }

  /** Gives back the held tokens that no request waits with, and wants none in advance for now. */
  giveBack(): void {
    this.#returned += Math.max(0, this.held - this.waiting.size);
    this.#chunk = 1;
    this.#chunkAt = Number.NEGATIVE_INFINITY;
  }

  /**
   * Begins a new ask. The number of extra tokens follows the demand: it doubles if the tokens were spent within
   * HORIZON, and halves if they lasted much longer.
   */
  begin(now: number): void {
    const lasted = now - this.#chunkAt;
    this.#chunkAt = now;
    if (lasted < HORIZON) this.#chunk = Math.min(this.#chunk * 2, wholeLimit(this.counter));
    else if (lasted > 4 * HORIZON) this.#chunk = Math.max(1, this.#chunk >> 1);
    this.#sequence += 1;
    this.askedAt = now;
  }

  ask(): LeaseAsk {
    const pending = this.waiting.size;
    // A single token in advance would need as many messages as none, and nodes would hold it in vain.
    const extra = this.#chunk > 1 ? this.#chunk : 0;
    return { counter: this.counter, account: this.account, pending, extra, sequence: this.#sequence };
  }
}
