/** The part of a node that owns counters: it grants tokens to the nodes, and recalls unspent ones. */
import type { Counter } from "@sluice/plugin-sdk";
import { counterId } from "./accounts.ts";
import { type FleetClock, RECALL_PATIENCE, RETRY, WINDOW_GRACE } from "./fleet-clock.ts";
import { Ledger } from "./ledger.ts";
import type { LeaseAsk, LeaseGrant, LeaseRecall, ReportedCounter } from "./messages.ts";
import { type Ownership, ownershipHash } from "./view.ts";
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

/** Requests of nodes wait until other nodes have given tokens back. */
interface PendingRecall {
  /** The latest ask of each node. */
  readonly waiting: Map<string, LeaseAsk>;
  readonly since: number;
  /** The time of the last attempt. */
  sentAt: number;
}

export class FleetOwner {
  readonly #options: FleetOwnerOptions;
  readonly #ledgers: WindowTable<Ledger>;
  readonly #recalls = new Map<Ledger, PendingRecall>();
  /** Nodes that did not answer a recall, and have sent nothing since. */
  readonly #silent = new Set<string>();
  #participants: ReadonlySet<string> = new Set();
  #nodes = 1;

  constructor(options: FleetOwnerOptions) {
    this.#options = options;
    this.#ledgers = new WindowTable(options);
  }

  /** Number of counters. */
  get size(): number {
    return this.#ledgers.size;
  }

  adopt(ownership: Ownership): void {
    this.#participants = new Set(ownership.participants());
    this.#nodes = Math.max(1, ownership.view.members.length);
  }

  /** The node has sent a message. */
  heard(node: string): void {
    this.#silent.delete(node);
  }

  ask(node: string, ask: LeaseAsk): void {
    if (ask.counter.expires + WINDOW_GRACE <= this.#options.clock.wallTime()) {
      const { granted } = ask.account;
      this.#grant(node, ask, { granted, total: ask.counter.limit, exhausted: true });
      return;
    }
    const ledger = this.#ledger(ask.counter);
    ledger.setLimit(ask.counter);
    ledger.learn(node, ask.account);
    this.#countOvershoot(ledger);
    // The node repeats the ask until this node may grant.
    if (!this.#options.mayGrant(ledger.hash)) return;
    this.#serve(ledger, node, ask, ask.account.granted);
    const pending = this.#recalls.get(ledger);
    if (pending === undefined) return;
    // The account may have freed tokens for others.
    for (const [waiting, its] of [...pending.waiting]) {
      if (waiting !== node) this.#serve(ledger, waiting, its, ledger.account(waiting)?.granted ?? 0);
    }
    this.#recall(ledger, pending);
  }

  /** Merges the report of another node, or of this node's own leases. */
  learn(report: ReportedCounter): void {
    const ledger = this.#ledger(report.counter);
    ledger.learnReport(report);
    this.#countOvershoot(ledger);
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
      this.#countOvershoot(ledger);
    }
  }

  tick(): void {
    const { clock, self } = this.#options;
    for (const [ledger, pending] of [...this.#recalls]) {
      if (clock.now() - pending.since >= RECALL_PATIENCE) {
        for (const node of this.#holders(ledger, pending)) if (node !== self) this.#silent.add(node);
      }
      this.#recall(ledger, pending);
    }
    this.#ledgers.forgetBefore(clock.wallTime() - WINDOW_GRACE);
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
    const ledger = new Ledger(counter, ownershipHash(counterId(counter)));
    if (this.#options.mayGrant(ledger.hash)) ledger.knownBy = this.#options.self;
    this.#ledgers.add(counter, ledger);
    return ledger;
  }

  /** @param known Granted tokens of which the node knows */
  #serve(ledger: Ledger, node: string, ask: LeaseAsk, known: number): void {
    const isServed = ledger.grant(node, ask, this.#nodes);
    const granted = ledger.account(node)?.granted ?? 0;
    if (isServed) this.#recalls.get(ledger)?.waiting.delete(node);
    else this.#wait(ledger, node, ask);
    if (isServed || granted > known) this.#grant(node, ask, { granted, total: ledger.total, exhausted: false });
  }

  #grant(node: string, ask: LeaseAsk, what: Pick<LeaseGrant, "granted" | "total" | "exhausted">): void {
    const { counter, account, sequence } = ask;
    this.#options.grant(node, { counter, generation: account.generation, sequence, ...what });
  }

  #wait(ledger: Ledger, node: string, ask: LeaseAsk): void {
    const pending = this.#recalls.get(ledger);
    if (pending !== undefined) pending.waiting.set(node, ask);
    else {
      const since = this.#options.clock.now();
      this.#recalls.set(ledger, { waiting: new Map([[node, ask]]), since, sentAt: Number.NEGATIVE_INFINITY });
    }
  }

  /** Recalls unspent tokens for the waiting nodes; if there are none, refuses their requests. */
  #recall(ledger: Ledger, pending: PendingRecall): void {
    const { clock, recall } = this.#options;
    const holders = this.#holders(ledger, pending);
    if (pending.waiting.size === 0 || holders.length === 0) {
      // Grants to this node itself may begin another recall.
      if (this.#recalls.get(ledger) === pending) this.#recalls.delete(ledger);
      for (const [node, ask] of pending.waiting) {
        const granted = ledger.account(node)?.granted ?? 0;
        this.#grant(node, ask, { granted, total: ledger.total, exhausted: true });
      }
      pending.waiting.clear();
      return;
    }
    if (clock.now() - pending.sentAt < RETRY) return;
    pending.sentAt = clock.now();
    for (const node of holders) {
      const account = ledger.account(node);
      if (account === undefined) continue;
      recall(node, { counter: ledger.counter, generation: account.generation, granted: account.granted });
    }
  }

  /** The nodes that may give tokens back. */
  #holders(ledger: Ledger, { waiting }: PendingRecall): readonly string[] {
    return ledger
      .holders()
      .filter((node) => !waiting.has(node) && this.#participants.has(node) && !this.#silent.has(node));
  }
}
