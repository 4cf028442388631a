/** Decides which nodes of a fleet count together, from the states of the nodes. Pure. */
import { type NodeReport, type PeerReport, type PushView, REMOVE_PEER_AFTER, type ViewedNode } from "@sluice/model";

/** What the operator knows of a node. Times are milliseconds of a monotonic clock. */
export interface MemberCandidate {
  /** Base URL of the push listener. */
  readonly address: string;
  /** The last report; null: the last request failed. */
  readonly state: NodeReport | null;
  /** The time since which a request has been unanswered; null: none is. */
  readonly unansweredSince: number | null;
  /** No process listens on the address any more. */
  readonly isRefusing: boolean;
  /** The Pod terminates. */
  readonly isTerminating: boolean;
}

/**
 * Epochs of the next term are higher than all of this one, so that two operators never publish two views with the same
 * epoch. This leaves room for two million terms.
 */
const EPOCHS_PER_TERM = 2 ** 32;

interface Present {
  readonly node: ViewedNode;
  readonly isLeaving: boolean;
}

export class FleetMembership {
  /** The last reports, by address. */
  #reports: ReadonlyMap<string, PeerReport> = new Map();
  #view: PushView | null = null;

  /** The addresses of the nodes that take part. */
  get addresses(): ReadonlySet<string> {
    return new Set(this.#reports.keys());
  }

  /**
   * The view of these nodes; the same object while nothing changes. Null: no node takes part, or it is not yet known
   * which nodes do, because a new leader has not yet heard from all of them.
   */
  update(
    nodes: readonly MemberCandidate[],
    { term, now }: { readonly term: number; readonly now: number },
  ): PushView | null {
    const isAwaited = ({ state, unansweredSince, isRefusing }: MemberCandidate): boolean =>
      state === null && !isRefusing && unansweredSince !== null && now - unansweredSince < REMOVE_PEER_AFTER;
    const reports = new Map<string, PeerReport>();
    for (const node of nodes) {
      const report = isAwaited(node) ? this.#reports.get(node.address) : node.state?.peer;
      if (report) reports.set(node.address, report);
    }
    this.#reports = reports;
    const isBegun = this.#view?.term === term;
    if (!isBegun && (reports.size === 0 || nodes.some((node) => isAwaited(node) && !reports.has(node.address))))
      return null;
    const present = presentNodes(nodes, reports);
    const members = present.filter(({ isLeaving }) => !isLeaving).map(({ node }) => node);
    const leaving = present.filter(({ isLeaving }) => isLeaving).map(({ node }) => node);
    if (isBegun && JSON.stringify([this.#view?.members, this.#view?.leaving]) === JSON.stringify([members, leaving]))
      return this.#view;
    this.#view = { term, epoch: this.#nextEpoch(term), members, leaving };
    return this.#view;
  }

  /** After a restart in the same term, epochs continue from the highest one of the nodes. */
  #nextEpoch(term: number): number {
    const [first, end] = [term * EPOCHS_PER_TERM, (term + 1) * EPOCHS_PER_TERM];
    const known = this.#reports.values().map(({ epoch }) => epoch);
    return Math.max(first, this.#view?.epoch ?? 0, ...known.filter((epoch) => epoch < end)) + 1;
  }
}

/** Sorted by name. A process that is listed with two addresses counts once. */
function presentNodes(nodes: readonly MemberCandidate[], reports: ReadonlyMap<string, PeerReport>): readonly Present[] {
  const found = new Map<string, Present>();
  for (const { address, isTerminating } of nodes) {
    const report = reports.get(address);
    if (!report || report.state === "left" || found.has(report.name)) continue;
    const { name, port, state } = report;
    found.set(name, {
      node: { name, host: hostOf(address), port },
      isLeaving: isTerminating || state === "leaving",
    });
  }
  return [...found.keys()].sort().map((name) => found.get(name) as Present);
}

/** Without the brackets of an IPv6 address. */
const hostOf = (address: string): string => new URL(address).hostname.replace(/^\[|\]$/g, "");
