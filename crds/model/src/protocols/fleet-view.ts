/**
 * Views of a fleet: lists of the nodes that count together (rate limits with `policy: fleet`). The operator sends them
 * beside documents (push.ts), because a view is no configuration: it changes whenever a node comes or goes, changes no
 * hash, and must reach all nodes within a second.
 *
 * | request to the node's push listener | body | response |
 * |---|---|---|
 * | PUT /view | PushView | 200 NodeReport, 400 PushRefused, 412 PushRefused if the term is over |
 *
 * A node takes part if its NodeReport has the member `peer`. The operator sends the view of a fleet to these nodes.
 */

/** How a node takes part in its fleet. */
export interface PeerReport {
  /** The node's name in views: never used by another process, not even by the same node after a restart. */
  readonly name: string;
  /** Port of the listener for other nodes, on the host of the push listener. */
  readonly port: number;
  /** The epoch of the view that the node has adopted; 0 before the first. */
  readonly epoch: number;
  /**
   * `leaving`: the node shuts down, owns no counters in the next view, and still serves requests. `left`: the other
   * nodes know all that it knew, so that a view may leave it out.
   */
  readonly state: "present" | "leaving" | "left";
}

/** A node of a view, as the other nodes reach it. */
export interface ViewedNode {
  readonly name: string;
  /** An IP address or a host name. */
  readonly host: string;
  readonly port: number;
}

/** The nodes of a fleet at a time. */
export interface PublishedView {
  /** Grows with each view of a fleet, also over restarts of the operator. */
  readonly epoch: number;
  /** The nodes that own counters. */
  readonly members: readonly ViewedNode[];
  /** The nodes that shut down: they own no counters, and may still have tokens. */
  readonly leaving: readonly ViewedNode[];
}

export interface PushView extends PublishedView {
  /** The term of the operator that leads. Default 0. */
  readonly term?: number;
}

/**
 * Milliseconds without an answer or heartbeat after which a node is removed from the view. Until then, other nodes decide
 * by the setting for counters without an owner. If the node still runs, the limits of its counters may be exceeded
 * afterwards, so this is longer than a pause of a busy process.
 */
export const REMOVE_PEER_AFTER = 5000;

/** Maximum number of nodes of each list. */
export const MAX_FLEET_NODES = 4096;
/** Maximum characters of a name, and of a host (RFC 1035, 2.3.4). */
const MAX_NAME = 253;

const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && Number(value) >= 0;
const isPort = (value: unknown): value is number => isCount(value) && value >= 1 && value <= 65_535;
const isName = (value: unknown): value is string =>
  typeof value === "string" && value.length >= 1 && value.length <= MAX_NAME;

export function isPeerIdentity(value: unknown): value is Pick<PeerReport, "name" | "state"> {
  const { name, state } = Object(value) as Readonly<Record<string, unknown>>;
  return isName(name) && ["present", "leaving", "left"].includes(state as string);
}

export function isPeerReport(value: unknown): value is PeerReport {
  const { port, epoch } = Object(value) as Readonly<Record<string, unknown>>;
  return isPeerIdentity(value) && isPort(port) && isCount(epoch);
}

function isViewedNode(value: unknown): value is ViewedNode {
  const { name, host, port } = Object(value) as Readonly<Record<string, unknown>>;
  return isName(name) && isName(host) && isPort(port);
}

const isNodeList = (value: unknown): value is readonly ViewedNode[] =>
  Array.isArray(value) && value.length <= MAX_FLEET_NODES && value.every(isViewedNode);

export function isPushView(value: unknown): value is PushView {
  const { term = 0, epoch, members, leaving } = Object(value) as Readonly<Record<string, unknown>>;
  return isCount(term) && isCount(epoch) && isNodeList(members) && isNodeList(leaving);
}
