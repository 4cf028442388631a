/** The part of a node that leases tokens from the owners of counters, and spends them on requests. */
import type { Counter, CounterResult, FleetFallback } from "@sluice/plugin-sdk";
import { newAccount, wholeLimit } from "../accounts.ts";
import { type FleetClock, OWNER_PATIENCE, REFUSAL_MEMORY, RETRY, WINDOW_GRACE } from "../fleet-clock.ts";
import type { LeaseAsk, LeaseGrant, LeaseRecall } from "../messages.ts";
import type { Ownership } from "../view.ts";
import { WindowTable, type WindowTableOptions } from "../window-table.ts";
import { type LeaseSlots, LeaseWords, type WorkerLease } from "./lease-words.ts";
import { LeasedCounter, nextWindowOf, previousStartOf, resultOf, type WaitingRequest } from "./leased-counter.ts";
import { OwnerPresence } from "./owner-presence.ts";
import { SlidingLeases } from "./sliding-leases.ts";

export interface FleetLesseeOptions extends Omit<WindowTableOptions<LeasedCounter>, "onDrop"> {
  /** Where the workers of the node find the leases. Absent: only this thread spends tokens. */
  readonly slots?: LeaseSlots | undefined;
  readonly self: string;
  readonly clock: FleetClock;
  readonly ask: (owner: string, ask: LeaseAsk) => void;
  /** Called with the result of a request that had to wait. */
  readonly onDecision: (id: number, result: CounterResult) => void;
  /** Called with the number of tokens that a request spends without an owner. */
  readonly onBorrow: (counter: Counter, tokens: number) => void;
}

/** Above this number of asks without an answer, they are repeated less often, because the owner needs longer. */
const MANY_ASKS = 1000;
const MAX_RETRY = OWNER_PATIENCE / 2;

export class FleetLessee {
  readonly #options: FleetLesseeOptions;
  readonly #leases: WindowTable<LeasedCounter>;
  /** Leases with an ask that was not answered, or with borrowed tokens. */
  readonly #asking = new Set<LeasedCounter>();
  /** Leases whose ask leaves with the next flush. */
  readonly #toSend = new Set<LeasedCounter>();
  readonly #owners: OwnerPresence;
  #ownership: Ownership | undefined;
  #generations = 0;
  #isRetired = false;
  readonly #sliding = new SlidingLeases();
  /** The request of the present call of `take`, and its result if this node itself owns its counters. */
  #taking: { readonly id: number; result: CounterResult | undefined } | undefined;

  constructor(options: FleetLesseeOptions) {
    this.#options = options;
    this.#owners = new OwnerPresence(options.self, options.clock);
    const { slots } = options;
    const onDrop = (lease: LeasedCounter) => {
      this.#sliding.delete(lease);
      if (slots === undefined) return;
      slots.free(lease.words);
      // Requests may still wait for several counters, of which this is one.
      lease.words = LeaseWords.own();
    };
    this.#leases = new WindowTable({ ...options, onDrop });
  }

  /** Number of counters. */
  get size(): number {
    return this.#leases.size;
  }

  get isAsking(): boolean {
    return this.#asking.size > 0;
  }

  /** The next time in Unix milliseconds at which `tick` has something to do although this node is not asking. */
  get nextEnd(): number {
    return Math.min(this.#sliding.earliest, this.#leases.earliest + WINDOW_GRACE);
  }

  /** Whether asks leave with the next flush. */
  get hasAsks(): boolean {
    return this.#toSend.size > 0;
  }

  /** Asks the new owners with the next tick. */
  adopt(ownership: Ownership): void {
    this.#ownership = ownership;
    this.#owners.adopt(ownership);
    for (const lease of this.#leases.values()) {
      const owner = ownership.ownerOf(lease.hash);
      if (owner === lease.owner) continue;
      lease.owner = owner;
      // What is borrowed until there is an owner again must be reported to it.
      if (owner === undefined) lease.knownBy = undefined;
      if (lease.askedAt === undefined && lease.waiting.size === 0) continue;
      lease.begin(this.#options.clock.now(), lease.waiting.size > 0);
      lease.sentAt = Number.NEGATIVE_INFINITY;
      this.#asking.add(lease);
    }
  }

  /** The node has sent a message. */
  heard(node: string): void {
    this.#owners.heard(node);
  }

  /**
   * Admits or refuses a request; undefined: `onDecision` will be called. A request takes the same number of tokens
   * (`amount`) of each counter, or none of any.
   */
  take(id: number, counters: readonly Counter[], unowned: FleetFallback): CounterResult | undefined {
    const leases = counters.map((counter) => this.#lease(counter));
    const amount = counters[0]?.amount ?? 1;
    for (const lease of leases) if (lease.aheadAt < Number.POSITIVE_INFINITY) this.#leaseAhead(lease);
    // Most requests have one counter whose tokens this node holds.
    const [first, second] = leases;
    const isPlain = first !== undefined && second === undefined && !this.#isRetired;
    if (isPlain && amount <= wholeLimit(first.counter) && first.spend(amount)) return this.#carryOut(true, leases);
    const request: WaitingRequest = { id, leases, amount, unowned };
    const admitted = this.#decide(request);
    if (admitted !== undefined && (!admitted || this.#spend(request))) return this.#carryOut(admitted, leases);
    const taking = { id, result: undefined };
    this.#taking = taking;
    for (const lease of leases) lease.await(request);
    this.#askForMissing(request);
    this.#taking = undefined;
    return taking.result;
  }

  /**
   * Adds an amount to a counter whatever its limit, tells the owner, and reads the value. Tokens that other nodes hold
   * count as used.
   *
   * @param amount 0: only reads
   * @param onCount Called with the value, or with the one that this node knows if the owner does not answer
   */
  add(counter: Counter, amount: number, onCount: (count: number) => void): void {
    const lease = this.#lease(counter);
    if (amount > 0) lease.add(amount);
    lease.readers.add(() => onCount(lease.count));
    const hasOwner = this.#hasOwner(lease);
    // What an absent owner was not told is repeated until it answers.
    if (hasOwner || amount > 0) this.#askIfIdle(lease, false);
    if (!hasOwner) lease.answerReaders();
  }

  /** What a worker must know to spend tokens of a counter by itself. */
  placeOf(counter: Counter): WorkerLease | undefined {
    const lease = this.#leases.get(counter);
    if (lease === undefined) return undefined;
    const refused = Math.max(0, lease.refusedUntil - this.#options.clock.now());
    return { ...lease.words.place, refused, previous: lease.previous };
  }

  /** Few tokens are left of a counter: a worker has spent the others. */
  refill(counter: Counter): void {
    const lease = this.#leases.get(counter);
    if (lease?.isLow && this.#hasOwner(lease)) this.#askIfIdle(lease);
  }

  grant(from: string, grant: LeaseGrant): void {
    const lease = this.#leases.get(grant.counter);
    // The grant of a former owner does not count: it may have failed without a report of this grant.
    if (lease === undefined || lease.generation !== grant.generation || lease.owner !== from) return;
    lease.receive(grant.granted);
    lease.knownBy = from;
    lease.previous = grant.previous;
    lease.see({ epoch: this.#ownership?.view.epoch ?? 0, total: grant.total }, grant);
    if (grant.sequence === lease.sequence) {
      lease.end();
      this.#asking.delete(lease);
      if (grant.exhausted) lease.refusedUntil = this.#options.clock.now() + REFUSAL_MEMORY;
      lease.answerReaders();
    }
    // The owner may have answered an ask with a former limit.
    if (grant.isFinal && grant.counter.limit >= lease.counter.limit) lease.refusedUntil = Number.POSITIVE_INFINITY;
    this.#decideWaiting(lease);
    if (this.#isRetired && lease.held > 0) this.#giveBack(lease);
    // Tokens were borrowed, or an amount was added, after the ask.
    else if (lease.hasUnseen) this.#askIfIdle(lease, false);
  }

  recall(from: string, recall: LeaseRecall): void {
    const { counter, generation, granted } = recall;
    const lease = this.#leases.get(counter);
    if (lease === undefined) {
      // The account was dropped to free memory. A newer one says that the tokens will not be spent.
      const account = newAccount(++this.#generations);
      this.#options.ask(from, { counter, account, pending: 0, extra: 0, sequence: 0 });
      return;
    }
    if (lease.owner !== from) return;
    if (lease.generation === generation) {
      lease.receive(granted);
      lease.knownBy = from;
    }
    this.#decideWaiting(lease);
    lease.giveBackPart(recall);
    this.#ask(lease, false);
  }

  /** Gives all tokens back. From now on, requests are refused. */
  retire(): void {
    this.#isRetired = true;
    for (const lease of this.#leases.values()) {
      this.#decideWaiting(lease);
      if (lease.held > 0) this.#giveBack(lease);
    }
  }

  /** The leases of whose accounts the present owner does not know. */
  *unreported(): Generator<LeasedCounter> {
    for (const lease of this.#leases.values()) {
      if (lease.owner !== lease.knownBy && lease.owner !== undefined) yield lease;
    }
  }

  /** The leases that have no owner, because the view has no members. */
  unowned(): Iterable<LeasedCounter> {
    return this.#leases.values().filter(({ owner }) => owner === undefined);
  }

  /** Sends the asks of this turn. */
  flush(): void {
    for (const lease of this.#toSend) if (lease.owner !== undefined) this.#options.ask(lease.owner, lease.ask());
    this.#toSend.clear();
  }

  tick(): void {
    const now = this.#options.clock.now();
    const probed = new Set<string>();
    const interval = Math.min(MAX_RETRY, RETRY * Math.max(1, this.#asking.size / MANY_ASKS));
    for (const lease of [...this.#asking]) {
      if (this.#leases.get(lease.counter) !== lease) this.#abandon(lease);
      else if (lease.owner === undefined) {
        // The view has no members.
        lease.end();
        this.#asking.delete(lease);
        lease.answerReaders();
        this.#decideWaiting(lease);
      } else {
        if (this.#isSilent(lease)) {
          this.#owners.miss(lease.owner);
          lease.answerReaders();
          this.#decideWaiting(lease);
        }
        // One ask is enough to find out whether an absent owner is back.
        const isProbed = this.#owners.isAbsent(lease.owner) && probed.has(lease.owner);
        if (isProbed || now - lease.sentAt < interval) continue;
        probed.add(lease.owner);
        this.#send(lease);
      }
    }
    const time = this.#options.clock.wallTime();
    for (const lease of this.#sliding.takeEnded(time)) if (lease.held > 0) this.#giveBack(lease);
    this.#leases.forgetBefore(time - WINDOW_GRACE);
  }

  #lease(counter: Counter): LeasedCounter {
    const known = this.#leases.get(counter);
    if (known !== undefined) {
      if (known.configure(counter)) this.#giveBack(known);
      return known;
    }
    const lease = new LeasedCounter(counter, ++this.#generations, this.#options.slots?.allocate() ?? LeaseWords.own());
    lease.owner = this.#ownership?.ownerOf(lease.hash);
    lease.expect(this.#leases.get({ ...counter, windowStart: previousStartOf(counter) }));
    this.#leases.add(counter, lease);
    this.#sliding.add(lease);
    return lease;
  }

  /** Shortly before the next window, leases tokens of it if requests come often. So the first ones need not wait. */
  #leaseAhead(lease: LeasedCounter): void {
    if (this.#options.clock.wallTime() < lease.aheadAt) return;
    lease.aheadAt = Number.POSITIVE_INFINITY;
    const next = nextWindowOf(lease.counter);
    if (next === undefined || !lease.isBusy || this.#isRetired) return;
    const ahead = this.#lease(next);
    if (ahead.held <= 0 && this.#hasOwner(ahead)) this.#askIfIdle(ahead);
  }

  /** Whether to admit a request; undefined: it must wait. */
  #decide({ leases, amount, unowned }: WaitingRequest): boolean | undefined {
    let mustWait = false;
    if (this.#isRetired) return false;
    for (const lease of leases) {
      if (amount > wholeLimit(lease.counter)) return false;
      if (lease.held >= amount) continue;
      if (this.#options.clock.now() < lease.refusedUntil) return false;
      if (this.#hasOwner(lease)) {
        mustWait = true;
        continue;
      }
      // Until it is answered, this ask is repeated, so that the node learns when the owner is back.
      if (lease.owner !== undefined) this.#askIfIdle(lease);
      if (!this.#admitsUnowned(lease, amount, unowned)) return false;
    }
    return mustWait ? undefined : true;
  }

  /** The request must not be among the waiting ones any more: an ask to this node itself may decide those. */
  #carryOut(admitted: boolean, leases: readonly LeasedCounter[]): CounterResult {
    const result = resultOf(admitted, leases, (lease) => this.#isUsedUp(lease));
    if (admitted) for (const lease of leases) if (lease.isLow && this.#hasOwner(lease)) this.#askIfIdle(lease);
    return result;
  }

  /** Spends the tokens of a request; false: a worker has taken some of them meanwhile, and none is spent. */
  #spend({ leases, amount }: WaitingRequest): boolean {
    for (const [at, lease] of leases.entries()) {
      if (lease.spend(amount)) continue;
      if (this.#hasOwner(lease)) {
        for (const { words } of leases.slice(0, at)) words.putBack(amount);
        return false;
      }
      lease.borrow(amount);
      this.#options.onBorrow(lease.counter, amount);
    }
    return true;
  }

  #isUsedUp(lease: LeasedCounter): boolean {
    return lease.held <= 0 && (this.#options.clock.now() < lease.refusedUntil || !this.#hasOwner(lease));
  }

  #hasOwner(lease: LeasedCounter): boolean {
    return lease.owner !== undefined && !this.#owners.isAbsent(lease.owner) && !this.#isSilent(lease);
  }

  #isSilent({ askedAt }: LeasedCounter): boolean {
    return askedAt !== undefined && this.#options.clock.now() - askedAt >= OWNER_PATIENCE;
  }

  #admitsUnowned(lease: LeasedCounter, amount: number, unowned: FleetFallback): boolean {
    const nodes = Math.max(1, this.#ownership?.view.members.length ?? 1);
    if (unowned !== "share") return unowned === "open";
    const { sliding } = lease.counter;
    const before = sliding && this.#leases.get({ ...lease.counter, windowStart: sliding.previousStart });
    const carried = Math.ceil((before?.used ?? 0) * (sliding?.weight ?? 0));
    return carried + lease.used + amount <= Math.floor(wholeLimit(lease.counter) / nodes);
  }

  #decideWaiting(lease: LeasedCounter): void {
    for (const request of lease.waiting) {
      const admitted = this.#decide(request);
      if (admitted !== undefined && (!admitted || this.#spend(request))) {
        this.#settle(request, admitted);
        continue;
      }
      this.#askForMissing(request);
      // Without a token, the others wait too. This node itself may have granted the other tokens of the request.
      if (lease.waiting.has(request) && lease.held < request.amount && this.#hasOwner(lease)) return;
    }
  }

  #askForMissing(request: WaitingRequest): void {
    for (const lease of request.leases) {
      // Another counter of the request may have made it wait, so this one is not refused by `refusedUntil`.
      const mayAsk = lease.held < lease.pending && this.#options.clock.now() >= lease.refusedUntil;
      if (mayAsk && lease.waiting.has(request)) this.#askIfIdle(lease);
    }
  }

  /** @param admitted If true, the tokens are spent already */
  #settle(request: WaitingRequest, admitted: boolean): void {
    for (const lease of request.leases) lease.dismiss(request);
    const result = this.#carryOut(admitted, request.leases);
    if (this.#taking?.id === request.id) this.#taking.result = result;
    else this.#options.onDecision(request.id, result);
  }

  #abandon(lease: LeasedCounter): void {
    this.#asking.delete(lease);
    lease.answerReaders();
    for (const request of lease.waiting) this.#settle(request, false);
  }

  /** @param isDemand Whether the node needs tokens. Otherwise, it only reports its account and reads the total */
  #askIfIdle(lease: LeasedCounter, isDemand = true): void {
    const { askedAt } = lease;
    if (askedAt === undefined) this.#ask(lease, isDemand);
    // Too few tokens were asked for in advance. The owner must know of the waiting requests before it answers.
    else if (isDemand && lease.askedFor === 0 && lease.pending > 0) this.#ask(lease, isDemand, askedAt);
  }

  /** @param since The time of the first ask that was not answered; default: now */
  #ask(lease: LeasedCounter, isDemand: boolean, since?: number): void {
    lease.begin(this.#options.clock.now(), isDemand);
    lease.askedAt = since ?? lease.askedAt;
    this.#asking.add(lease);
    if (lease.owner !== undefined && !this.#owners.isAbsent(lease.owner)) this.#send(lease);
  }

  #giveBack(lease: LeasedCounter): void {
    lease.giveBack();
    this.#ask(lease, false);
  }

  #send(lease: LeasedCounter): void {
    lease.sentAt = this.#options.clock.now();
    if (lease.owner === this.#options.self) this.#options.ask(lease.owner, lease.ask());
    else this.#toSend.add(lease);
  }
}
