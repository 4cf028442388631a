/** What a node has leased of one counter, and its requests that wait for tokens. */
import type { Counter, FleetFallback } from "@sluice/plugin-sdk";
import { type Account, wholeLimit } from "../accounts.ts";
import { HORIZON } from "../fleet-clock.ts";
import type { LeaseAsk, SeenTotal } from "../messages.ts";
import { ownershipHash, ownershipKey } from "../view.ts";
import type { LeaseWords } from "./lease-words.ts";

/**
 * Maximum tokens that a node leases in advance, and that it asks for at once. So the numbers of held tokens stay below
 * 2 ** 31, as lease-words.ts needs.
 */
const MAX_CHUNK = 2 ** 20;
const MAX_PENDING = 2 ** 30;

/** A request that waits for tokens of one or more counters. */
export interface WaitingRequest {
  readonly id: number;
  readonly leases: readonly LeasedCounter[];
  /** Tokens that it takes of each of them. */
  readonly amount: number;
  readonly unowned: FleetFallback;
}

export class LeasedCounter {
  counter: Counter;
  readonly hash: number;
  readonly generation: number;
  readonly waiting = new Set<WaitingRequest>();
  /** Tokens that the waiting requests take together. */
  pending = 0;
  /** Called with the answer to the present ask, or when the owner does not answer. */
  readonly readers = new Set<() => void>();
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
  /** Tokens of the window before, if the window slides, as the owner named them last. */
  previous = 0;
  /** What `seen` contains of this account: granted and added. */
  #seenAccount = 0;
  words: LeaseWords;
  #granted = 0;
  #returned = 0;
  /** Amounts added whatever the limit. */
  #added = 0;
  #sequence = 0;
  #chunk = 1;
  #chunkAt = Number.NEGATIVE_INFINITY;
  /** Whether the present ask leases tokens in advance. */
  #isInAdvance = false;

  constructor(counter: Counter, generation: number, words: LeaseWords) {
    this.counter = counter;
    this.generation = generation;
    this.words = words;
    words.setLow(-1);
    this.hash = ownershipHash(ownershipKey(counter));
  }

  get account(): Account {
    return {
      generation: this.generation,
      before: 0,
      granted: this.#granted,
      returned: this.#returned,
      used: this.used,
      added: this.#added,
    };
  }

  /** Tokens that the node may spend. The workers of the node may spend them at any time. */
  get held(): number {
    return this.words.held;
  }

  get used(): number {
    return this.#granted - this.#returned - this.held;
  }

  get sequence(): number {
    return this.#sequence;
  }

  /** So few tokens are held that more should be leased before they are needed. */
  get isLow(): boolean {
    return this.held <= this.#low;
  }

  /**
   * Requests admitted by the fleet, as far as this node knows; tokens that other nodes hold count as spent. With a sliding
   * window, the estimate.
   */
  get count(): number {
    const own = Math.max(this.used + this.#added, (this.seen?.total ?? 0) + this.#unseen - this.held);
    return own + Math.ceil(this.previous * (this.counter.sliding?.weight ?? 0));
  }

  /** The owner does not know of tokens that this node has spent without a grant, or of amounts that it has added. */
  get hasUnseen(): boolean {
    return this.#unseen > 0;
  }

  /** The owner has named the total, which contains this account as far as the owner knows it. */
  see(seen: SeenTotal, { granted, added }: Pick<Account, "granted" | "added">): void {
    this.seen = seen;
    this.#seenAccount = granted + added;
  }

  receive(granted: number): void {
    if (granted <= this.#granted) return;
    this.words.grant(granted - this.#granted);
    this.#granted = granted;
  }

  /** The ask was answered. Near the limit, owners grant less than was asked for. */
  end(): void {
    this.askedAt = undefined;
    this.#chunk = Math.min(this.#chunk, Math.max(1, this.held));
    this.words.setLow(this.#low);
    this.words.setCount(this.count);
  }

  /** A request begins to wait for tokens. */
  await(request: WaitingRequest): void {
    this.waiting.add(request);
    this.pending += request.amount;
  }

  /** The request does not wait any more. */
  dismiss(request: WaitingRequest): void {
    if (this.waiting.delete(request)) this.pending -= request.amount;
  }

  /** Returns false if the node holds fewer tokens, or workers have just taken them. */
  spend(tokens: number): boolean {
    return this.words.takeAll(tokens);
  }

  /** Spends tokens that no owner has granted. */
  borrow(tokens: number): void {
    this.#granted += tokens;
    this.words.borrow(tokens);
  }

  /** Adds an amount whatever the limit. */
  add(amount: number): void {
    this.#added += amount;
    this.words.setCount(this.count);
  }

  /** Gives back the held tokens that no request waits with, and wants none in advance for now. */
  giveBack(): void {
    this.#returned += this.words.take(this.held - this.pending);
    this.#chunk = 1;
    this.#chunkAt = Number.NEGATIVE_INFINITY;
  }

  /**
   * Begins a new ask. The number of extra tokens follows the demand: it doubles if the tokens were spent within
   * HORIZON, and halves if they lasted much longer.
   *
   * @param isDemand Whether the node needs tokens. Otherwise, the ask only reports the account and reads the total
   */
  begin(now: number, isDemand: boolean): void {
    this.#sequence += 1;
    this.askedAt = now;
    this.#isInAdvance = isDemand;
    if (!isDemand) return;
    const lasted = now - this.#chunkAt;
    this.#chunkAt = now;
    if (lasted < HORIZON) this.#chunk = Math.min(this.#chunk * 2, wholeLimit(this.counter), MAX_CHUNK);
    else if (lasted > 4 * HORIZON) this.#chunk = Math.max(1, this.#chunk >> 1);
  }

  /** What the owner's last total does not contain. */
  get #unseen(): number {
    return this.#granted + this.#added - this.#seenAccount;
  }

  /** The number of tokens at which more are leased; -1: never in advance. */
  get #low(): number {
    return this.#chunk > 1 ? this.#chunk >> 1 : -1;
  }

  ask(): LeaseAsk {
    // A single token in advance would need as many messages as none, and nodes would hold it in vain.
    const extra = this.#isInAdvance && this.#chunk > 1 ? this.#chunk : 0;
    const { counter, account } = this;
    return { counter, account, pending: Math.min(this.pending, MAX_PENDING), extra, sequence: this.#sequence };
  }
}
