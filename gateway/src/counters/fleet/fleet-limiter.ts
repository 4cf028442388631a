/**
 * One node of a fleet whose nodes enforce limits together (README.md): the protocol without sockets and timers. The caller
 * passes on messages, calls `flush` at the end of each turn of the event loop in which it called anything else, and calls
 * `tick` about every RETRY milliseconds while `isWaiting`, and at `nextEnd`.
 */
import type { Counter, CounterResult, FleetFallback } from "@sluice/plugin-sdk";
import { type FleetClock, WINDOW_GRACE } from "./fleet-clock.ts";
import { FleetOwner } from "./fleet-owner.ts";
import { Handover, type OutgoingCounter } from "./handover.ts";
import { FleetLessee } from "./lessee/fleet-lessee.ts";
import type { LeaseSlots, WorkerLease } from "./lessee/lease-words.ts";
import type { HandoverReport, PeerMessage, ReportedCounter, SavedCounter } from "./messages.ts";
import { Outbox } from "./outbox.ts";
import { type FleetView, Ownership } from "./view.ts";
import { MAX_COUNTERS } from "./window-table.ts";

/** What the administrator of a node should know; for metrics. */
export interface FleetEvents {
  /** Tokens were granted or borrowed beyond a limit. */
  readonly onOvershoot: (counter: Counter, tokens: number) => void;
  /** A request was admitted without an owner. */
  readonly onBorrow: (counter: Counter, tokens: number) => void;
  /** This node took over counters without the reports of all nodes. */
  readonly onIncompleteHandover: () => void;
  /** A counter was dropped because there were too many. */
  readonly onReplace: () => void;
}

export interface FleetLimiterOptions {
  /** The name of this node in views. Never used by another process, not even by the same node after a restart. */
  readonly self: string;
  readonly clock: FleetClock;
  readonly send: (peer: string, message: PeerMessage) => void;
  /** Called with the result of each request for which `take` returned none. */
  readonly onDecision: (id: number, result: CounterResult) => void;
  readonly events: FleetEvents;
  /** Maximum number of counters that this node leases, and of those that it owns; default MAX_COUNTERS each. */
  readonly capacity?: number;
  /** Where the workers of the node find the leases. Absent: only the thread of this object spends tokens. */
  readonly slots?: LeaseSlots;
}

export class FleetLimiter {
  readonly #options: FleetLimiterOptions;
  readonly #outbox = new Outbox();
  readonly #owner: FleetOwner;
  readonly #lessee: FleetLessee;
  readonly #handover: Handover;
  #ownership: Ownership | undefined;
  #isRetired = false;

  constructor(options: FleetLimiterOptions) {
    const { self, clock, events, capacity = MAX_COUNTERS, onDecision, slots } = options;
    this.#options = options;
    this.#handover = new Handover({
      self,
      clock,
      send: (peer, report) => this.#outbox.add(peer, "reports", report),
      onSettled: (isComplete) => {
        if (!isComplete) events.onIncompleteHandover();
        this.#owner.takeOver((hash) => this.#ownerOf(hash), isComplete);
      },
    });
    this.#owner = new FleetOwner({
      self,
      clock,
      capacity,
      onReplace: events.onReplace,
      onOvershoot: events.onOvershoot,
      mayGrant: (hash) => this.#handover.mayGrant(hash),
      grant: (node, grant) =>
        node === self ? this.#lessee.grant(self, grant) : this.#outbox.add(node, "grants", grant),
      recall: (node, recall) =>
        node === self ? this.#lessee.recall(self, recall) : this.#outbox.add(node, "recalls", recall),
    });
    this.#lessee = new FleetLessee({
      self,
      clock,
      capacity,
      onReplace: events.onReplace,
      onBorrow: events.onBorrow,
      onDecision,
      slots,
      ask: (owner, ask) => (owner === self ? this.#owner.ask(self, ask) : this.#outbox.add(owner, "asks", ask)),
    });
  }

  /** Number of counters that this node leases, and that it owns or has owned. */
  get sizes(): { readonly leased: number; readonly owned: number } {
    return { leased: this.#lessee.size, owned: this.#owner.size };
  }

  /** After `retire`: the members of the present view know all that this node knew. */
  get isDismissed(): boolean {
    return this.#isRetired && this.#handover.isConfirmed && !this.#lessee.isAsking;
  }

  /** Grows while other nodes take over what this node knows. */
  get handedOver(): number {
    return this.#handover.confirmed;
  }

  /**
   * Takes `amount` tokens of each counter for a request, or none of any. All counters have the same amount. Undefined: `onDecision` will be called with `id`.
   *
   * @param id Unique among the requests that wait
   */
  take(id: number, counters: readonly Counter[], unowned: FleetFallback): CounterResult | undefined {
    return this.#lessee.take(id, counters, unowned);
  }

  placeOf(counter: Counter): WorkerLease | undefined {
    return this.#lessee.placeOf(counter);
  }

  refill(counter: Counter): void {
    this.#lessee.refill(counter);
  }

  /**
   * Adds an amount to a counter whatever its limit, and reads the value. Tokens that other nodes hold count as used.
   *
   * @param amount 0: only reads
   * @param onCount Called with the value, or with the one that this node knows if the owner does not answer
   */
  add(counter: Counter, amount: number, onCount: (count: number) => void): void {
    this.#lessee.add(counter, amount, onCount);
  }

  /** Merges saved counters, whose nodes may have ended. To be called before the first view. */
  restore(counters: readonly ReportedCounter[]): void {
    const time = this.#options.clock.wallTime() - WINDOW_GRACE;
    for (const saved of counters) if (saved.counter.expires > time) this.#owner.learn(saved);
  }

  /** What must be saved of the counters that this node owns, because it has changed since the last call. */
  takeUnsaved(most: number): readonly SavedCounter[] {
    return this.#owner.takeUnsaved(most);
  }

  /** Views with an epoch that is not higher than that of the present view are ignored. */
  adopt(view: FleetView): void {
    if (this.#ownership !== undefined && view.epoch <= this.#ownership.view.epoch) return;
    const ownership = new Ownership(view);
    this.#ownership = ownership;
    this.#handover.adopt(ownership);
    this.#owner.adopt(ownership);
    this.#lessee.adopt(ownership);
    this.#report();
    this.#handover.settle();
    this.#lessee.tick();
  }

  /** @param from The authenticated name of the peer */
  receive(from: string, message: PeerMessage): void {
    this.#owner.heard(from);
    this.#lessee.heard(from);
    for (const report of message.reports) this.#receiveReport(from, report);
    for (const receipt of message.receipts) this.#handover.confirm(from, receipt);
    for (const grant of message.grants) this.#lessee.grant(from, grant);
    for (const recall of message.recalls) this.#lessee.recall(from, recall);
    for (const ask of message.asks) this.#owner.ask(from, ask);
  }

  /** Whether this node waits for an answer of another one, and must send its messages again if there is none. */
  get isWaiting(): boolean {
    return this.#lessee.isAsking || this.#owner.isRecalling || this.#handover.isWaiting;
  }

  /** The time in Unix milliseconds at which the next window of a counter has ended; Infinity: there are no counters. */
  get nextEnd(): number {
    return Math.min(this.#lessee.nextEnd, this.#owner.nextEnd);
  }

  tick(): void {
    this.#handover.tick();
    this.#owner.tick();
    this.#lessee.tick();
  }

  /** Whether `flush` would send anything. */
  get hasMessages(): boolean {
    return this.#lessee.hasAsks || !this.#outbox.isEmpty;
  }

  flush(): void {
    this.#lessee.flush();
    this.#outbox.flush(this.#options.send);
  }

  /** Gives all leases back before the process ends. From now on, requests are refused. */
  retire(): void {
    this.#isRetired = true;
    this.#lessee.retire();
    for (const { counter, account } of this.#lessee.unowned()) this.#owner.learnLast(counter, account);
    this.#report();
  }

  #ownerOf(hash: number): string | undefined {
    return this.#ownership?.ownerOf(hash);
  }

  #receiveReport(from: string, report: HandoverReport): void {
    const { epoch, final, part } = report;
    // The peer repeats a report for a view that this node has not adopted yet, and replaces one for an older view.
    if (epoch !== this.#ownership?.view.epoch) return;
    for (const counter of report.counters) this.#owner.learn(counter);
    this.#outbox.add(from, "receipts", { epoch, final, part });
    this.#handover.receive(from, report);
  }

  /** Reports to every member what it may not know of the counters that it owns. */
  #report(): void {
    const view = this.#ownership?.view;
    if (view === undefined) return;
    const { self } = this.#options;
    const members = new Set(view.members);
    const reports = new Map<string, OutgoingCounter[]>([...members].map((member) => [member, []]));
    this.#owner.forEachUnknownTo(
      (hash) => this.#ownerOf(hash),
      (ledger, owner) => {
        const onReceipt = () => {
          ledger.knownBy = owner;
        };
        const size = reportSize(ledger.counter, ledger.accounts);
        if (owner !== self) reports.get(owner)?.push({ content: () => ledger.report(), size, onReceipt });
      },
    );
    for (const lease of this.#lessee.unreported()) {
      const { owner } = lease;
      if (owner === undefined) continue;
      const content = () => {
        const { counter, account, seen } = lease;
        return { counter, accounts: [[self, account]] as const, seen, overshoot: 0 };
      };
      const onReceipt = () => {
        lease.knownBy = owner;
      };
      if (owner === self) {
        this.#owner.learn(content());
        onReceipt();
      } else reports.get(owner)?.push({ content, size: reportSize(lease.counter, 1), onReceipt });
    }
    this.#handover.forgetAllBut(members);
    const facts = { epoch: view.epoch, final: this.#isRetired };
    for (const [member, counters] of reports) if (member !== self) this.#handover.report(member, counters, facts);
  }
}

/** Approximate number of characters of a reported counter. */
const reportSize = ({ name }: Counter, accounts: number): number => name.length + 300 + 200 * accounts;
