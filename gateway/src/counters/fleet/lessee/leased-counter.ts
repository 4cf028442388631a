/** What a node has leased of one counter, and its requests that wait for tokens. */
import type { Counter, CounterResult, FleetFallback } from "@sluice/plugin-sdk";
import { type Account, isLong, wholeLimit } from "../accounts.ts";
import { HORIZON, LONG_HORIZON } from "../fleet-clock.ts";
import type { LeaseAsk, LeaseRecall, SeenTotal } from "../messages.ts";
import { ownershipHash, ownershipKey } from "../view.ts";
import type { LeaseWords } from "./lease-words.ts";

/**
 * Maximum tokens that a node leases in advance, and that it asks for at once. So the numbers of held tokens stay below
 * 2 ** 31, as lease-words.ts needs.
 */
const MAX_CHUNK = 2 ** 20;
const MAX_PENDING = 2 ** 30;

/** A chunk lasts for about this many round trips to an owner. More tokens are leased before those of one are spent. */
const ROUND_TRIPS_IN_CHUNK = 32;

/** At least this part of the held tokens is given back, so that a few recalls get all. */
const LEAST_SHARE = 0.25;

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
  /** Tokens for which requests waited when the present ask began. */
  askedFor = 0;
  /** The time of the last attempt. */
  sentAt = 0;
  /** Until this time, requests are refused without an ask. Infinity: until the window ends. */
  refusedUntil = 0;
  /** From this time on, in Unix milliseconds, tokens of the next window are leased; Infinity: not at all, or not again. */
  aheadAt: number;
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
  /** Milliseconds for which half of the tokens in advance should last. */
  readonly #horizon: number;
  /** Tokens to lease in advance: those that the demand of twice to four times the horizon needs. */
  #chunk = 1;
  /** The time since which the demand is measured, and the tokens that requests had needed until then. */
  #demandAt = Number.NEGATIVE_INFINITY;
  #demand = 0;
  /** The number of tokens at which more are leased; -1: never in advance. */
  #low = -1;
  /** Whether the present ask leases tokens in advance. */
  #isInAdvance = false;

  constructor(counter: Counter, generation: number, words: LeaseWords) {
    this.counter = counter;
    this.generation = generation;
    this.words = words;
    words.setLow(-1);
    this.#horizon = isLong(counter) ? LONG_HORIZON : HORIZON;
    this.hash = ownershipHash(ownershipKey(counter));
    this.aheadAt = nextWindowOf(counter) === undefined ? Number.POSITIVE_INFINITY : counter.expires - 2 * HORIZON;
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

  /** Whether requests come so often that tokens are leased in advance. */
  get isBusy(): boolean {
    return this.#chunk > 1;
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

  /** The limit of the latest request holds. Returns whether the node holds tokens that were granted by a higher one. */
  configure(counter: Counter): boolean {
    const isLowered = counter.limit < this.counter.limit;
    // The owner refused by the limit of a former configuration.
    if (counter.limit > this.counter.limit) this.refusedUntil = 0;
    this.counter = counter;
    return isLowered && this.held > 0;
  }

  /** The demand is expected to be that of the window before. */
  expect(before: LeasedCounter | undefined): void {
    if (before !== undefined) this.#chunk = Math.max(1, Math.min(before.#chunk, wholeLimit(this.counter)));
  }

  /** The ask was answered. Near the limit, owners grant less than was asked for. */
  end(): void {
    this.askedAt = undefined;
    this.#setLow(this.#chunk > 1 ? this.held : 0);
    this.words.setCount(this.count);
  }

  /** Tells the readers the value, as far as this node knows it. */
  answerReaders(): void {
    for (const answer of [...this.readers]) {
      this.readers.delete(answer);
      answer();
    }
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

  /** Gives back all held tokens that no waiting request needs, and wants none in advance for now. */
  giveBack(): void {
    this.giveBackPart({ wanted: this.held, share: 1 });
  }

  /** Gives back the other nodes' share of the held tokens that no waiting request needs, at least `wanted` of them. */
  giveBackPart({ wanted, share }: Pick<LeaseRecall, "wanted" | "share">): void {
    const spare = this.held - this.pending;
    this.#returned += this.words.take(
      Math.min(spare, Math.max(wanted, Math.ceil(spare * Math.max(share, LEAST_SHARE)))),
    );
    this.#setLow(0);
  }

  /**
   * Begins a new ask. The number of extra tokens follows the demand: it doubles if the demand within
   * the horizon is more than half a chunk, and halves if it is less than an eighth.
   *
   * @param isDemand Whether the node needs tokens. Otherwise, the ask only reports the account and reads the total
   */
  begin(now: number, isDemand: boolean): void {
    this.#sequence += 1;
    this.askedAt = now;
    this.askedFor = this.pending;
    this.#isInAdvance = isDemand;
    if (!isDemand) return;
    const lasted = now - this.#demandAt;
    const needed = this.used + this.pending - this.#demand;
    // A few requests tell little about the demand.
    if (lasted < this.#horizon && 4 * needed < this.#chunk) return;
    this.#demandAt = now;
    this.#demand += needed;
    // The first ask follows what is expected.
    if (lasted === Number.POSITIVE_INFINITY) return;
    if (2 * this.#horizon * needed > lasted * this.#chunk)
      this.#chunk = Math.max(1, Math.min(this.#chunk * 2, wholeLimit(this.counter), MAX_CHUNK));
    else if (8 * this.#horizon * needed < lasted * this.#chunk) this.#chunk = Math.max(1, this.#chunk >> 1);
  }

  /** What the owner's last total does not contain. */
  get #unseen(): number {
    return this.#granted + this.#added - this.#seenAccount;
  }

  /** More tokens are leased when half of these are left, or so few that they may be spent before the owner answers. */
  #setLow(held: number): void {
    const few = Math.max(held >> 1, Math.min(held - 1, Math.floor(this.#chunk / ROUND_TRIPS_IN_CHUNK)));
    this.#low = held <= 0 ? -1 : Math.min(few, this.#chunk >> 1);
    this.words.setLow(this.#low);
  }

  ask(): LeaseAsk {
    // A single token in advance would need as many messages as none, and nodes would hold it in vain.
    const extra = this.#isInAdvance && this.#chunk > 1 ? this.#chunk : 0;
    const { counter, account } = this;
    return { counter, account, pending: Math.min(this.pending, MAX_PENDING), extra, sequence: this.#sequence };
  }
}

/** The start of the window before; months and years, whose length varies, have none. */
export const previousStartOf = ({ windowStart, expires, sliding }: Counter): number =>
  sliding?.previousStart ?? 2 * windowStart - expires;

/**
 * The same counter in the next window; undefined: its window slides, so that its tokens would count in the present window,
 * or its length varies.
 */
export function nextWindowOf(counter: Counter): Counter | undefined {
  const { period, windowStart, expires, sliding } = counter;
  if (sliding !== undefined || period === "month" || period === "year") return undefined;
  return { ...counter, windowStart: expires, expires: 2 * expires - windowStart };
}

/**
 * The result of a request. A counter of which no token is left has the limit as its value, although other nodes may hold
 * some.
 */
export function resultOf(
  admitted: boolean,
  leases: readonly LeasedCounter[],
  isUsedUp: (lease: LeasedCounter) => boolean,
): CounterResult {
  const countOf = (lease: LeasedCounter) =>
    admitted || !isUsedUp(lease) ? lease.count : Math.max(lease.count, wholeLimit(lease.counter));
  const counts = leases.map(countOf);
  return leases[0]?.counter.sliding === undefined
    ? { admitted, counts }
    : { admitted, counts, previous: leases.map(({ previous }) => previous) };
}
