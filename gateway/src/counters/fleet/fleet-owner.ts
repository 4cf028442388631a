/** The part of a node that owns counters: it grants tokens to the nodes, and recalls unspent ones. */
import type { Counter } from "@sluice/plugin-sdk";
import { type Account, isSaved, wholeLimit } from "./accounts.ts";
import { type FleetClock, RECALL_PATIENCE, RETRY, WINDOW_GRACE } from "./fleet-clock.ts";
import { Ledger, neededTokens } from "./ledger.ts";
import type { LeaseAsk, LeaseGrant, LeaseRecall, ReportedCounter, SavedCounter } from "./messages.ts";
import { type Ownership, ownershipHash, ownershipKey } from "./view.ts";
import { WindowTable, type WindowTableOptions } from "./window-table.ts";

export interface FleetOwnerOptions extends Omit<WindowTableOptions<Ledger>, "onDrop"> {
  readonly self: string;
  readonly clock: FleetClock;
  /** Whether this node may grant tokens of the counter: it owns it and knows all that former owners have granted. */
  readonly mayGrant: (hash: number) => boolean;
  readonly grant: (node: string, grant: LeaseGrant) => void;
  readonly recall: (node: string, recall: LeaseRecall) => void;
  /** Called with the number of tokens that were granted beyond a limit. */
  readonly onOvershoot: (counter: Counter, tokens: number) => void;
}

/** Tokens that other nodes are asked to give back, for nodes whose requests wait or will wait soon. */
interface PendingRecall {
  /** The latest ask of each node. */
  readonly waiting: Map<string, LeaseAsk>;
  readonly since: number;
  /** The time of the last attempt. */
  sentAt: number;
  /**
   * Nodes that have kept their tokens for RECALL_PATIENCE. Their requests may wait for tokens of another counter, which
   * the waiting requests of this one hold.
   */
  readonly unwilling: Set<string>;
}

/** Number of accounts of a ledger, beyond those of the nodes of the fleet, above which those of ended nodes are folded. */
const MAX_ENDED = 1000;

/** The part of a node's share that is recalled while none of its requests waits: the holders soon need tokens, too. */
const PART_AHEAD = 1 / 3;

export class FleetOwner {
  readonly #options: FleetOwnerOptions;
  readonly #ledgers: WindowTable<Ledger>;
  readonly #recalls = new Map<Ledger, PendingRecall>();
  /** The ledgers of saved counters that have changed since they were saved. */
  readonly #unsaved = new Set<Ledger>();
  /** Nodes that did not answer a recall, and have sent nothing since. */
  readonly #silent = new Set<string>();
  #ownership: Ownership | undefined;
  #participants: ReadonlySet<string> = new Set();
  #nodes = 1;

  constructor(options: FleetOwnerOptions) {
    this.#options = options;
    this.#ledgers = new WindowTable({
      ...options,
      onDrop: (ledger) => {
        ledger.unlink();
        this.#unsaved.delete(ledger);
      },
    });
  }

  /** Number of counters. */
  get size(): number {
    return this.#ledgers.size;
  }

  /** Whether this node waits for tokens that it has recalled. */
  get isRecalling(): boolean {
    return this.#recalls.size > 0;
  }

  /** The next time in Unix milliseconds at which `tick` has something to do although this node is not recalling. */
  get nextEnd(): number {
    return this.#ledgers.earliest + WINDOW_GRACE;
  }

  adopt(ownership: Ownership): void {
    this.#ownership = ownership;
    this.#participants = new Set(ownership.participants());
    this.#nodes = Math.max(1, ownership.view.members.length);
  }

  /** The node has sent a message. */
  heard(node: string): void {
    this.#silent.delete(node);
  }

  ask(node: string, ask: LeaseAsk): void {
    if (ask.counter.expires + WINDOW_GRACE <= this.#options.clock.wallTime()) {
      const { granted, added } = ask.account;
      const end = { total: ask.counter.limit, previous: 0, exhausted: true, isFinal: false };
      this.#grant(node, ask, { granted, added, ...end });
      return;
    }
    const ledger = this.#ledger(ask.counter);
    ledger.setLimit(ask.counter);
    const returned = ledger.account(node)?.returned ?? 0;
    ledger.learn(node, ask.account);
    this.#changed(ledger);
    // The node repeats the ask until this node may grant.
    if (!this.#options.mayGrant(ledger.hash)) return;
    this.#serve(ledger, node, ask, ask.account.granted);
    // A node with most of the demand soon needs what the others hold.
    const isAhead = ask.pending === 0 && ask.extra > 0 && ledger.remaining === 0 && ledger.shareOf(node) > 0.5;
    if (isAhead && this.#holdersBut(ledger, (each) => each === node).length > 0) this.#wait(ledger, node, ask);
    const pending = this.#recalls.get(ledger);
    if (pending === undefined) return;
    // The account may have freed tokens for others.
    for (const [waiting, its] of [...pending.waiting]) {
      if (waiting !== node) this.#serve(ledger, waiting, its, ledger.account(waiting)?.granted ?? 0);
    }
    this.#recall(ledger, pending);
    const isLeft = this.#recalls.get(ledger) === pending && this.#holders(ledger, pending).includes(node);
    // The node gave back a part of its tokens, and requests still wait.
    if (isLeft && ask.account.returned > returned) this.#recallFrom(node, ledger, pending);
  }

  /** Merges the report of another node, or of this node's own leases. */
  learn(report: ReportedCounter): void {
    const ledger = this.#ledger(report.counter);
    ledger.learnReport(report);
    // A former owner that has the ledger does not know the report. Once this node takes over, it is the owner that does.
    if (ledger.knownBy !== this.#options.self) ledger.knownBy = undefined;
    this.#changed(ledger);
  }

  /** Merges this node's own account of a counter that it owned last, and that has no owner in the present view. */
  learnLast(counter: Counter, account: Account): void {
    const ledger = this.#ledgers.get(counter);
    if (ledger?.knownBy !== this.#options.self) return;
    ledger.learn(this.#options.self, account);
    this.#changed(ledger);
  }

  /** Calls `each` with the ledgers whose content the given owner does not have. */
  forEachUnknownTo(ownerOf: (hash: number) => string | undefined, each: (ledger: Ledger, owner: string) => void): void {
    for (const ledger of this.#ledgers.values()) {
      const owner = ownerOf(ledger.hash);
      if (owner !== undefined && owner !== ledger.knownBy) each(ledger, owner);
    }
  }

  /**
   * This node has received all reports that it waited for.
   *
   * @param isComplete Whether every other node has reported
   */
  takeOver(ownerOf: (hash: number) => string | undefined, isComplete: boolean): void {
    const { self } = this.#options;
    for (const ledger of this.#ledgers.values()) {
      if (ownerOf(ledger.hash) !== self || ledger.knownBy === self) continue;
      ledger.knownBy = self;
      if (!isComplete) ledger.chargeUnreported();
      this.#changed(ledger);
    }
  }

  /** The changes of saved counters that this node owns, which do not count as changed any more. */
  takeUnsaved(most: number): readonly SavedCounter[] {
    const { self } = this.#options;
    const epoch = this.#ownership?.view.epoch ?? 0;
    const reports: SavedCounter[] = [];
    for (const ledger of this.#unsaved) {
      if (reports.length >= most) break;
      this.#unsaved.delete(ledger);
      // A former owner must not replace what the present one has saved. Without members, the last owner saves.
      const owner = this.#ownership?.ownerOf(ledger.hash) ?? self;
      if (ledger.knownBy === self && owner === self) reports.push({ ...ledger.report(), epoch });
    }
    return reports;
  }

  tick(): void {
    const { clock, self } = this.#options;
    for (const [ledger, pending] of [...this.#recalls]) {
      if (clock.now() - pending.since >= RECALL_PATIENCE) {
        for (const node of this.#holders(ledger, pending)) {
          pending.unwilling.add(node);
          if (node !== self) this.#silent.add(node);
        }
      }
      this.#recall(ledger, pending);
    }
    this.#ledgers.forgetBefore(clock.wallTime() - WINDOW_GRACE);
  }

  #changed(ledger: Ledger): void {
    if (isSaved(ledger.counter)) this.#unsaved.add(ledger);
    // Before the first view, it is not known which nodes have ended.
    const nodes = this.#participants;
    if (nodes.size > 0 && ledger.accounts > MAX_ENDED + nodes.size)
      ledger.foldEnded((node) => !nodes.has(node), this.#options.self);
    this.#countOvershoot(ledger);
  }

  /** Before a hand-over has ended, the reports of some nodes may be older than those that are missing. */
  #countOvershoot(ledger: Ledger): void {
    if (ledger.knownBy !== this.#options.self) return;
    const overshoot = ledger.countOvershoot();
    if (overshoot > 0) this.#options.onOvershoot(ledger.counter, overshoot);
  }

  #ledger(counter: Counter): Ledger {
    const known = this.#ledgers.get(counter);
    if (known !== undefined) return known;
    const { clock, mayGrant, self } = this.#options;
    const ledger = new Ledger(counter, {
      hash: ownershipHash(ownershipKey(counter)),
      wallTime: () => clock.wallTime(),
    });
    if (mayGrant(ledger.hash)) ledger.knownBy = self;
    this.#ledgers.add(counter, ledger);
    if (counter.sliding !== undefined) {
      const { previousStart, end } = counter.sliding;
      this.#ledgers.get({ ...counter, windowStart: previousStart })?.precede(ledger);
      const next = this.#ledgers.get({ ...counter, windowStart: end });
      if (next !== undefined) ledger.precede(next);
    }
    return ledger;
  }

  /** @param known Granted tokens of which the node knows */
  #serve(ledger: Ledger, node: string, ask: LeaseAsk, known: number): void {
    const isServed = ledger.grant(node, ask, this.#nodes);
    const { granted = 0, added = 0 } = ledger.account(node) ?? {};
    if (isServed) this.#recalls.get(ledger)?.waiting.delete(node);
    else this.#wait(ledger, node, ask);
    if (!isServed && granted <= known) return;
    const { total, previous } = ledger;
    this.#grant(node, ask, { granted, added, total, previous, exhausted: false, isFinal: this.#isExhausted(ledger) });
    this.#announceExhausted(ledger, (each) => each === node);
  }

  /** Whether no node will get tokens in this window any more, unless the limit is raised. */
  #isExhausted(ledger: Ledger): boolean {
    if (ledger.counter.sliding !== undefined || ledger.remaining > 0 || ledger.hasUnreported) return false;
    return !ledger.holders().some((node) => this.#participants.has(node));
  }

  /** Tells the nodes that have leased tokens that none is left, so that they need not ask. */
  #announceExhausted(ledger: Ledger, told: (node: string) => boolean): void {
    const { counter, total } = ledger;
    if (ledger.exhaustedAt === wholeLimit(counter) || !this.#isExhausted(ledger)) return;
    ledger.exhaustedAt = wholeLimit(counter);
    for (const [node, { generation, granted, added }] of ledger.nodes()) {
      if (told(node) || !this.#participants.has(node)) continue;
      const totals = { granted, added, total, previous: 0, exhausted: true, isFinal: true };
      this.#options.grant(node, { counter, generation, sequence: 0, ...totals });
    }
  }

  #grant(node: string, ask: LeaseAsk, what: Omit<LeaseGrant, "counter" | "generation" | "sequence">): void {
    const { counter, account, sequence } = ask;
    this.#options.grant(node, { counter, generation: account.generation, sequence, ...what });
  }

  #wait(ledger: Ledger, node: string, ask: LeaseAsk): void {
    const pending = this.#recalls.get(ledger);
    if (pending !== undefined) pending.waiting.set(node, ask);
    else {
      const since = this.#options.clock.now();
      const waiting = new Map([[node, ask]]);
      this.#recalls.set(ledger, { waiting, since, sentAt: Number.NEGATIVE_INFINITY, unwilling: new Set() });
    }
  }

  /** Recalls unspent tokens for the waiting nodes; if there are none, refuses their requests. */
  #recall(ledger: Ledger, pending: PendingRecall): void {
    const { clock } = this.#options;
    const holders = this.#holders(ledger, pending);
    if (pending.waiting.size === 0 || holders.length === 0) {
      // Grants to this node itself may begin another recall.
      if (this.#recalls.get(ledger) === pending) this.#recalls.delete(ledger);
      const isFinal = this.#isExhausted(ledger);
      for (const [node, ask] of pending.waiting) {
        const { granted = 0, added = 0 } = ledger.account(node) ?? {};
        const { total, previous } = ledger;
        this.#grant(node, ask, { granted, added, total, previous, exhausted: true, isFinal });
      }
      this.#announceExhausted(ledger, (node) => pending.waiting.has(node));
      pending.waiting.clear();
      return;
    }
    if (clock.now() - pending.sentAt < RETRY) return;
    pending.sentAt = clock.now();
    for (const node of holders) this.#recallFrom(node, ledger, pending);
  }

  #recallFrom(node: string, ledger: Ledger, { waiting }: PendingRecall): void {
    const account = ledger.account(node);
    if (account === undefined) return;
    const { counter } = ledger;
    const { generation, granted } = account;
    let [wanted, share] = [0, 0];
    for (const [each, ask] of waiting) {
      wanted += Math.max(0, neededTokens(ask) - (ledger.account(each)?.granted ?? 0));
      share += ledger.shareOf(each) * (ask.pending > 0 ? 1 : PART_AHEAD);
    }
    this.#options.recall(node, { counter, generation, granted, wanted, share: Math.min(1, share) });
  }

  /** The nodes that may give tokens back. */
  #holders(ledger: Ledger, { waiting, unwilling }: PendingRecall): readonly string[] {
    return this.#holdersBut(ledger, (node) => waiting.has(node) || unwilling.has(node));
  }

  #holdersBut(ledger: Ledger, isExcluded: (node: string) => boolean): readonly string[] {
    const isLeft = (node: string) => !isExcluded(node) && !this.#silent.has(node);
    return ledger.holders().filter((node) => isLeft(node) && this.#participants.has(node));
  }
}
