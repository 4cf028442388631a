/** The nodes of a fleet as its authority publishes them: the operator, the database, or the nodes themselves. */

export interface PeerAddress {
  /** The node's name in views: never used by another process, not even by the same node after a restart. */
  readonly name: string;
  /** An IP address or a host name. */
  readonly host: string;
  readonly port: number;
}

/** A view of the fleet with the addresses of its nodes. */
export interface PublishedView {
  /** Grows by at least 1 with each change. Nodes ignore views that are not newer than their own. */
  readonly epoch: number;
  /** The nodes that own counters. */
  readonly members: readonly PeerAddress[];
  /** Nodes that shut down: they own no counters any more, but may still have tokens and reports. */
  readonly leaving: readonly PeerAddress[];
}

/** What a node tells the authority that publishes the views of its fleet. */
export interface PeerState {
  readonly name: string;
  /** Port of the listener for peers. */
  readonly port: number;
  /** The epoch of the view that the node has adopted; 0 before the first. */
  readonly epoch: number;
  /**
   * leaving: the node shuts down, and still serves requests; the next view should list it as leaving. left: the other
   * nodes know all that it knew; the next view should not list it.
   */
  readonly state: "present" | "leaving" | "left";
}
