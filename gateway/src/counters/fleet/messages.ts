/** What the nodes of a fleet send each other. Every message may be lost, delayed, repeated and reordered. */
import type { Counter } from "@sluice/plugin-sdk";
import type { Account } from "./accounts.ts";

/** A node asks the owner for tokens, or reports a change of its account. The owner answers each ask with a grant. */
export interface LeaseAsk {
  readonly counter: Counter;
  readonly account: Account;
  /** Requests that wait for a token each. */
  readonly pending: number;
  /** Tokens that the node wants to hold beyond those, for the requests to come. */
  readonly extra: number;
  /** Number of the ask among those for this account; a repeated ask has the same number. */
  readonly sequence: number;
}

export interface LeaseGrant {
  readonly counter: Counter;
  readonly generation: number;
  /** Tokens granted to the account in total, so that a repeated grant grants nothing. */
  readonly granted: number;
  /** Amounts added by the account of which the owner knows; `total` contains them. */
  readonly added: number;
  /** Tokens of the counter that the owner has charged to all nodes. */
  readonly total: number;
  /** For a sliding window: those of the window before; otherwise 0. */
  readonly previous: number;
  /** No node has tokens left, as far as the owner knows: waiting requests are refused. */
  readonly exhausted: boolean;
  /** No node will get tokens any more until the window ends, unless the limit is raised. */
  readonly isFinal: boolean;
  /** `sequence` of the ask; 0: this is no answer. */
  readonly sequence: number;
}

/** The owner asks for unspent tokens back, because another node has requests that wait for them. */
export interface LeaseRecall {
  readonly counter: Counter;
  readonly generation: number;
  /** As in a grant, in case the grant was lost. */
  readonly granted: number;
  /** Number of tokens for which requests of other nodes wait. */
  readonly wanted: number;
  /** The part of the demand that these nodes have, as far as the owner knows: from 0 to 1. */
  readonly share: number;
}

/** The total that an owner named last. */
export interface SeenTotal {
  readonly epoch: number;
  readonly total: number;
}

/** What a node knows about a counter. */
export interface ReportedCounter {
  readonly counter: Counter;
  readonly accounts: readonly (readonly [node: string, account: Account])[];
  readonly seen: SeenTotal | undefined;
  /** Tokens over the limit that owners have counted already. */
  readonly overshoot: number;
}

/** What the owner of a counter saves. */
export interface SavedCounter extends ReportedCounter {
  /** The epoch of the owner's view: what a later owner has saved must not be replaced. */
  readonly epoch: number;
}

/**
 * With each new view, every node sends each member the counters that the member now owns, in parts; the parts may be
 * empty. By this, it also promises that it grants nothing any more of what it does not own in this view.
 */
export interface HandoverReport {
  readonly epoch: number;
  /** The node will neither lease nor spend anything any more. */
  readonly final: boolean;
  /** 0 to `parts` - 1. */
  readonly part: number;
  readonly parts: number;
  /**
   * Nodes of former views whose reports the sender waits for. The receiver waits for them too: if it is new, it does not
   * know them.
   */
  readonly awaited: readonly string[];
  readonly counters: readonly ReportedCounter[];
}

/** The member has taken over the counters of a part. */
export type HandoverReceipt = Pick<HandoverReport, "epoch" | "final" | "part">;

export interface PeerMessage {
  readonly asks: readonly LeaseAsk[];
  readonly grants: readonly LeaseGrant[];
  readonly recalls: readonly LeaseRecall[];
  readonly reports: readonly HandoverReport[];
  readonly receipts: readonly HandoverReceipt[];
}
