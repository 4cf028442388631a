/**
 * The hand-over of counters after a change of the view. A new owner grants nothing before every node has reported what
 * it knows of the counters, or HANDOVER_PATIENCE has passed. So former owners cannot have granted tokens of which the
 * new owner does not know, unless a node failed.
 */
import { type FleetClock, HANDOVER_PATIENCE, RETRY } from "./fleet-clock.ts";
import type { HandoverReceipt, HandoverReport, ReportedCounter } from "./messages.ts";
import type { Ownership } from "./view.ts";

/** A counter of a report. */
export interface OutgoingCounter {
  /** Called when the part is sent, so that a report of many counters does not block the event loop. */
  readonly content: () => ReportedCounter;
  /** The peer has the counter. */
  readonly onReceipt: () => void;
}

export interface HandoverOptions {
  readonly self: string;
  readonly clock: FleetClock;
  readonly send: (peer: string, report: HandoverReport) => void;
  /** Called when this node has received the reports for its view; `isComplete`: those of all nodes. */
  readonly onSettled: (isComplete: boolean) => void;
}

/** Counters of one part of a report. */
const PART = 500;
/** Parts that are sent before the first of them is confirmed. */
const UNCONFIRMED = 8;

interface Outgoing {
  readonly report: Omit<HandoverReport, "counters">;
  readonly counters: readonly OutgoingCounter[];
  sentAt: number;
}

interface Incoming {
  readonly epoch: number;
  readonly final: boolean;
  readonly missing: Set<number>;
}

export class Handover {
  readonly #options: HandoverOptions;
  /** Parts to each peer that it has not confirmed. */
  readonly #outgoing = new Map<string, Outgoing[]>();
  readonly #incoming = new Map<string, Incoming>();
  /** Peers that have sent their final report. */
  readonly #final = new Set<string>();
  readonly #awaited = new Set<string>();
  /** The views since the last one for which this node has received the reports; the first is that one, if any. */
  #views: Ownership[] = [];
  #hasSettled = false;
  #isSettled = false;
  #beganAt = 0;

  constructor(options: HandoverOptions) {
    this.#options = options;
  }

  /** All peers have confirmed the reports of this node. */
  get isConfirmed(): boolean {
    return this.#outgoing.size === 0;
  }

  /** Whether this node owns the counter and knows all grants of its former owners. */
  mayGrant(hash: number): boolean {
    const { self } = this.#options;
    if (this.#isSettled) return this.#views.at(-1)?.ownerOf(hash) === self;
    return this.#hasSettled && this.#views.every((view) => view.ownerOf(hash) === self);
  }

  /** Begins to wait for the reports of a new view. */
  adopt(ownership: Ownership): void {
    const { self, clock } = this.#options;
    this.#views.push(ownership);
    this.#beganAt = clock.now();
    this.#isSettled = false;
    this.#awaited.clear();
    // A node that owns nothing needs no reports.
    if (ownership.view.members.includes(self)) {
      for (const view of this.#views) for (const node of view.participants()) this.#awaited.add(node);
    }
    this.#awaited.delete(self);
    for (const node of this.#final) this.#awaited.delete(node);
    this.#incoming.clear();
  }

  /** Settles if no report is outstanding. To be called after `adopt`, once this node's own accounts are merged. */
  settle(): void {
    if (!this.#isSettled && this.#awaited.size === 0) this.#end(true);
  }

  /** Reports to a peer; replaces the former report to it. */
  report(
    peer: string,
    counters: readonly OutgoingCounter[],
    { epoch, final }: Pick<HandoverReport, "epoch" | "final">,
  ) {
    const parts = Math.max(1, Math.ceil(counters.length / PART));
    const awaited = [...this.#awaited];
    this.#outgoing.set(
      peer,
      Array.from({ length: parts }, (_, part) => {
        const slice = counters.slice(part * PART, (part + 1) * PART);
        return { report: { epoch, final, part, parts, awaited }, counters: slice, sentAt: Number.NEGATIVE_INFINITY };
      }),
    );
    this.#send(peer);
  }

  /** Forgets reports to nodes that no longer belong to the fleet. */
  forgetAllBut(peers: ReadonlySet<string>): void {
    for (const peer of this.#outgoing.keys()) if (!peers.has(peer)) this.#outgoing.delete(peer);
  }

  /** Notes the part of a report for the present view, after its counters were merged. */
  receive(from: string, { epoch, final, part, parts, awaited }: HandoverReport): void {
    if (!this.#isSettled) for (const node of awaited) if (!this.#hasReported(node, epoch)) this.#awaited.add(node);
    let incoming = this.#incoming.get(from);
    if (incoming?.epoch !== epoch || (final && !incoming.final)) {
      incoming = { epoch, final, missing: new Set(Array.from({ length: parts }, (_, at) => at)) };
      this.#incoming.set(from, incoming);
    }
    if (incoming.final !== final) return;
    incoming.missing.delete(part);
    if (incoming.missing.size > 0) return;
    if (final) this.#final.add(from);
    this.#awaited.delete(from);
    this.settle();
  }

  confirm(from: string, { epoch, final, part }: HandoverReceipt): void {
    const parts = this.#outgoing.get(from) ?? [];
    const at = parts.findIndex(
      ({ report }) => report.epoch === epoch && report.final === final && report.part === part,
    );
    if (at < 0) return;
    for (const { onReceipt } of parts.splice(at, 1).flatMap(({ counters }) => counters)) onReceipt();
    if (parts.length === 0) this.#outgoing.delete(from);
    else this.#send(from);
  }

  tick(): void {
    for (const peer of this.#outgoing.keys()) this.#send(peer);
    if (this.#views.length > 0 && !this.#isSettled && this.#options.clock.now() - this.#beganAt >= HANDOVER_PATIENCE)
      this.#end(false);
  }

  #hasReported(node: string, epoch: number): boolean {
    const incoming = this.#incoming.get(node);
    return (
      node === this.#options.self || this.#final.has(node) || (incoming?.epoch === epoch && incoming.missing.size === 0)
    );
  }

  #send(peer: string): void {
    const { clock, send } = this.#options;
    for (const outgoing of this.#outgoing.get(peer)?.slice(0, UNCONFIRMED) ?? []) {
      if (clock.now() - outgoing.sentAt < RETRY) continue;
      outgoing.sentAt = clock.now();
      send(peer, { ...outgoing.report, counters: outgoing.counters.map(({ content }) => content()) });
    }
  }

  #end(isComplete: boolean): void {
    this.#isSettled = true;
    this.#hasSettled = true;
    this.#views = this.#views.slice(-1);
    this.#options.onSettled(isComplete);
  }
}
