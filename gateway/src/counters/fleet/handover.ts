/**
 * The hand-over of counters after a change of the view. A new owner grants nothing before every node has reported what
 * it knows of the counters, or no report has arrived for HANDOVER_PATIENCE. So former owners cannot have granted tokens
 * of which the new owner does not know, unless a node failed.
 */
import { type FleetClock, HANDOVER_PATIENCE, RESEND_PART, RETRY } from "./fleet-clock.ts";
import type { HandoverReceipt, HandoverReport, ReportedCounter } from "./messages.ts";
import type { Ownership } from "./view.ts";

/** A counter of a report. */
export interface OutgoingCounter {
  /** Called when the part is sent, so that a report of many counters does not block the event loop. */
  readonly content: () => ReportedCounter;
  /** Approximate number of characters in the message. */
  readonly size: number;
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

interface PartSize {
  readonly counters: number;
  /** Approximate number of characters. */
  readonly size: number;
}

/**
 * The first part is sent alone and repeated often, until the peer has adopted the view. So it is small, or empty if its
 * counters have many accounts.
 */
const FIRST_PART: PartSize = { counters: 25, size: 2 ** 14 };
/** Far below MAX_PEER_MESSAGE, also if characters need several bytes. */
const NEXT_PART: PartSize = { counters: 500, size: 2 ** 18 };
/** Parts after the first one that are sent before they are confirmed. */
const UNCONFIRMED = 2;

interface Outgoing {
  readonly report: Omit<HandoverReport, "counters">;
  readonly counters: readonly OutgoingCounter[];
  sentAt: number;
  /** Milliseconds until the part is sent again. */
  resendAfter: number;
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
  /** Peers that have sent a final report, for any view. */
  readonly #final = new Set<string>();
  readonly #awaited = new Set<string>();
  /** The views since the last one for which this node has received the reports; the first is that one, if any. */
  #views: Ownership[] = [];
  #hasSettled = false;
  #isSettled = false;
  /** The time of the view, or of the last part that arrived for it. */
  #progressAt = 0;
  #confirmed = 0;

  constructor(options: HandoverOptions) {
    this.#options = options;
  }

  /** All peers have confirmed the reports of this node. */
  get isConfirmed(): boolean {
    return this.#outgoing.size === 0;
  }

  /** Whether this node waits for reports, or for receipts of its own ones. */
  get isWaiting(): boolean {
    return this.#outgoing.size > 0 || (this.#views.length > 0 && !this.#isSettled);
  }

  /** Number of parts that peers have confirmed since the start. */
  get confirmed(): number {
    return this.#confirmed;
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
    this.#progressAt = clock.now();
    this.#isSettled = false;
    this.#awaited.clear();
    const present = new Set(ownership.participants());
    for (const each of this.#views) {
      if (this.#isMember) for (const node of each.participants()) this.#awaited.add(node);
      // A node that owns nothing needs no reports, but a new member may learn only from it which members are missing.
      else for (const node of each.view.members) if (!present.has(node)) this.#awaited.add(node);
    }
    this.#awaited.delete(self);
    for (const node of this.#final) if (this.#isDismissed(node)) this.#awaited.delete(node);
    this.#incoming.clear();
  }

  /** Settles if this node waits for no report. To be called after `adopt`, once this node's own accounts are merged. */
  settle(): void {
    if (!this.#isSettled && (this.#awaited.size === 0 || !this.#isMember)) this.#end(true);
  }

  /** Reports to a peer; replaces the former report to it. */
  report(
    peer: string,
    counters: readonly OutgoingCounter[],
    { epoch, final }: Pick<HandoverReport, "epoch" | "final">,
  ) {
    const all = partsOf(counters);
    const facts = { epoch, final, parts: all.length, awaited: [...this.#awaited] };
    this.#outgoing.set(
      peer,
      all.map((each, part) => ({
        report: { ...facts, part },
        counters: each,
        sentAt: Number.NEGATIVE_INFINITY,
        resendAfter: part === 0 ? RETRY : RESEND_PART,
      })),
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
    if (incoming.missing.delete(part)) this.#progressAt = this.#options.clock.now();
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
    this.#confirmed += 1;
    for (const { onReceipt } of parts.splice(at, 1).flatMap(({ counters }) => counters)) onReceipt();
    if (parts.length === 0) this.#outgoing.delete(from);
    else this.#send(from);
  }

  tick(): void {
    for (const peer of this.#outgoing.keys()) this.#send(peer);
    const waited = this.#options.clock.now() - this.#progressAt;
    if (this.#views.length > 0 && !this.#isSettled && waited >= HANDOVER_PATIENCE) this.#end(false);
  }

  get #isMember(): boolean {
    return this.#views.at(-1)?.view.members.includes(this.#options.self) === true;
  }

  #hasReported(node: string, epoch: number): boolean {
    const incoming = this.#incoming.get(node);
    return (
      node === this.#options.self ||
      this.#isDismissed(node) ||
      (incoming?.epoch === epoch && incoming.missing.size === 0)
    );
  }

  /**
   * Whether the members of a former view know all that the node knew. While the view lists it as leaving, its final report
   * for a former view is not enough: that had only the counters that this node owned in the former view.
   */
  #isDismissed(node: string): boolean {
    return this.#final.has(node) && this.#views.at(-1)?.participants().includes(node) === false;
  }

  #send(peer: string): void {
    const { clock, send } = this.#options;
    const parts = this.#outgoing.get(peer) ?? [];
    const isBegun = parts[0]?.report.part !== 0;
    for (const outgoing of parts.slice(0, isBegun ? UNCONFIRMED : 1)) {
      if (clock.now() - outgoing.sentAt < outgoing.resendAfter) continue;
      if (isBegun && outgoing.sentAt > Number.NEGATIVE_INFINITY)
        outgoing.resendAfter = Math.min(2 * outgoing.resendAfter, HANDOVER_PATIENCE);
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

/** The counters of each part of a report. */
function partsOf(counters: readonly OutgoingCounter[]): readonly (readonly OutgoingCounter[])[] {
  const parts: OutgoingCounter[][] = [[]];
  let left = FIRST_PART;
  for (const counter of counters) {
    if (left.counters === 0 || left.size < counter.size) {
      parts.push([]);
      left = NEXT_PART;
    }
    parts.at(-1)?.push(counter);
    left = { counters: left.counters - 1, size: left.size - counter.size };
  }
  return parts;
}
