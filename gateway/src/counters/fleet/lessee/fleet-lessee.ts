/** The part of a node that leases tokens from the owners of counters, and spends them on requests. */
import type { Counter, CounterResult, FleetFallback } from "@sluice/plugin-sdk";
import { newAccount, wholeLimit } from "../accounts.ts";
import { type FleetClock, OWNER_PATIENCE, REFUSAL_MEMORY, RETRY, WINDOW_GRACE } from "../fleet-clock.ts";
import type { LeaseAsk, LeaseGrant, LeaseRecall } from "../messages.ts";
import type { Ownership } from "../view.ts";
import { WindowTable, type WindowTableOptions } from "../window-table.ts";
import { type LeasePlace, type LeaseSlots, LeaseWords } from "./lease-words.ts";
import { LeasedCounter, type WaitingRequest } from "./leased-counter.ts";
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

export interface WorkerLease extends LeasePlace {
  /** Milliseconds for which requests are refused if no token is held. */
  readonly refused: number;
  /** As `CounterResult.previous`. */
  readonly previous: number;
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
  /** Owners that have sent nothing for OWNER_PATIENCE although this node waits for an answer. */
  readonly #absent = new Set<string>();
  /** The time of the last message of each node. */
  readonly #heardAt = new Map<string, number>();
  #ownership: Ownership | undefined;
  #generations = 0;
  #isRetired = false;
  readonly #sliding = new SlidingLeases();
  /** The request of the present call of `take`, and its result if this node itself owns its counters. */
  #taking: { readonly id: number; result: CounterResult | undefined } | undefined;

  constructor(options: FleetLesseeOptions) {
    this.#options = options;
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

  /** Whether asks leave with the next flush. */
  get hasAsks(): boolean {
    return this.#toSend.size > 0;
  }

  /** Asks the new owners with the next tick. */
  adopt(ownership: Ownership): void {
    this.#ownership = ownership;
    this.#absent.clear();
    const participants = new Set(ownership.participants());
    for (const node of this.#heardAt.keys()) if (!participants.has(node)) this.#heardAt.delete(node);
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
    this.#heardAt.set(node, this.#options.clock.now());
    this.#absent.delete(node);
  }

  /**
   * Admits or refuses a request; undefined: `onDecision` will be called. A request takes the same number of tokens
   * (`amount`) of each counter, or none of any.
   */
  take(id: number, counters: readonly Counter[], unowned: FleetFallback): CounterResult | undefined {
    const leases = counters.map((counter) => this.#lease(counter));
    const request: WaitingRequest = { id, leases, amount: counters[0]?.amount ?? 1, unowned };
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
    if (!hasOwner) this.#answerReaders(lease);
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
      this.#answerReaders(lease);
    }
    this.#decideWaiting(lease);
    if (this.#isRetired && lease.held > 0) this.#giveBack(lease);
    // Tokens were borrowed, or an amount was added, after the ask.
    else if (lease.hasUnseen) this.#askIfIdle(lease, false);
  }

  recall(from: string, { counter, generation, granted }: LeaseRecall): void {
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
    this.#giveBack(lease);
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
        this.#answerReaders(lease);
        this.#decideWaiting(lease);
      } else {
        if (this.#isSilent(lease)) {
          if (this.#isUnheard(lease.owner)) this.#absent.add(lease.owner);
          this.#answerReaders(lease);
          this.#decideWaiting(lease);
        }
        // One ask is enough to find out whether an absent owner is back.
        const isProbed = this.#absent.has(lease.owner) && probed.has(lease.owner);
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
      // The owner refused by the limit of a former configuration.
      if (counter.limit > known.counter.limit) known.refusedUntil = 0;
      known.counter = counter;
      return known;
    }
    const lease = new LeasedCounter(counter, ++this.#generations, this.#options.slots?.allocate() ?? LeaseWords.own());
    lease.owner = this.#ownership?.ownerOf(lease.hash);
    this.#leases.add(counter, lease);
    this.#sliding.add(lease);
    return lease;
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
    const result = this.#result(admitted, leases);
    if (admitted) for (const lease of leases) if (lease.isLow && this.#hasOwner(lease)) this.#askIfIdle(lease);
    return result;
  }

  /** A counter of which no token is left has the limit as its value, although other nodes may hold some. */
  #result(admitted: boolean, leases: readonly LeasedCounter[]): CounterResult {
    if (admitted) return { admitted, counts: leases.map(({ count }) => count), ...previousOf(leases) };
    const now = this.#options.clock.now();
    const isUsedUp = (lease: LeasedCounter) => lease.held <= 0 && (now < lease.refusedUntil || !this.#hasOwner(lease));
    const countOf = (lease: LeasedCounter) =>
      isUsedUp(lease) ? Math.max(lease.count, wholeLimit(lease.counter)) : lease.count;
    return { admitted, counts: leases.map(countOf), ...previousOf(leases) };
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

  #hasOwner(lease: LeasedCounter): boolean {
    return lease.owner !== undefined && !this.#absent.has(lease.owner) && !this.#isSilent(lease);
  }

  #isSilent({ askedAt }: LeasedCounter): boolean {
    return askedAt !== undefined && this.#options.clock.now() - askedAt >= OWNER_PATIENCE;
  }

  #isUnheard(owner: string): boolean {
    const heardAt = this.#heardAt.get(owner) ?? Number.NEGATIVE_INFINITY;
    return owner !== this.#options.self && this.#options.clock.now() - heardAt >= OWNER_PATIENCE;
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
    this.#answerReaders(lease);
    for (const request of lease.waiting) this.#settle(request, false);
  }

  #answerReaders({ readers }: LeasedCounter): void {
    for (const answer of [...readers]) {
      readers.delete(answer);
      answer();
    }
  }

  /** @param isDemand Whether the node needs tokens. Otherwise, it only reports its account and reads the total */
  #askIfIdle(lease: LeasedCounter, isDemand = true): void {
    if (lease.askedAt === undefined) this.#ask(lease, isDemand);
  }

  #ask(lease: LeasedCounter, isDemand: boolean): void {
    lease.begin(this.#options.clock.now(), isDemand);
    this.#asking.add(lease);
    if (lease.owner !== undefined && !this.#absent.has(lease.owner)) this.#send(lease);
  }

  #giveBack(lease: LeasedCounter): void {
    lease.giveBack();
    this.#ask(lease, lease.waiting.size > 0);
  }

  #send(lease: LeasedCounter): void {
    lease.sentAt = this.#options.clock.now();
    if (lease.owner === this.#options.self) this.#options.ask(lease.owner, lease.ask());
    else this.#toSend.add(lease);
  }
}

const previousOf = (leases: readonly LeasedCounter[]): Pick<CounterResult, "previous"> =>
  leases[0]?.counter.sliding === undefined ? {} : { previous: leases.map(({ previous }) => previous) };
