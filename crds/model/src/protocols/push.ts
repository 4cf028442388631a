/**
 * The push protocol, by which the operator sends documents to nodes.
 *
 * | request to the node's push listener | body | response |
 * |---|---|---|
 * | GET /document | - | 200 NodeReport |
 * | PUT /document | PushDocument | 200 NodeReport, 400 PushRefused |
 * | PATCH /document | PushChange | 200 NodeReport, 400 PushRefused, 409 NodeReport if the node's hash is not `base` |
 *
 * POST /plugins of the same listener is described in plugin-endpoint.ts, and PUT /view in fleet-view.ts.
 *
 * A 200 response to PUT or PATCH is the acknowledgement: from then on the node serves the hash in the response. An
 * outdated push is answered with 412 PushRefused. A push is outdated if its term is lower than the highest that the
 * node has seen, or if its revision is lower than the served revision of the same term. So a deposed leader that does
 * not know yet that it was deposed changes nothing.
 */

import type { Violation } from "@sluice/plugin-sdk";
import type { Change, Document } from "../document.ts";
import type { PeerReport } from "./fleet-view.ts";

/** The state that a node reports. */
export interface NodeReport {
  /** The node's id (UUID), new at every start. */
  readonly node: string;
  /** Hash of the snapshot that the node serves; null before the first document. */
  readonly hash: string | null;
  /** The operator's revision of that snapshot; 0 before the first document. */
  readonly revision: number;
  /** The highest operator term seen; 0 before the first push. Absent on a node without a push listener. */
  readonly term?: number;
  /** Version of the node's software. */
  readonly version: string;
  /** `pluginSetHash` of the node; absent for versions that do not report it. */
  readonly pluginSet?: string;
  /**
   * Names of plugins that the served document uses and the node does not have: the node answers requests in their scope
   * with 503. Absent: none.
   */
  readonly missingPlugins?: readonly string[];
  /** The listeners of the served document that the node does not serve. Absent: none. */
  readonly failedListeners?: readonly FailedListener[];
  /** Port of the node's status listener, on the host of its push listener; absent if the node has none. */
  readonly statusPort?: number;
  /** Absent: the node has no listener for other nodes, so it takes no part in limits of its fleet. */
  readonly peer?: PeerReport;
}

/** A listener of the document that a node does not serve. */
export interface FailedListener {
  readonly name: string;
  /** The port that the node should open. */
  readonly port: number;
  /** For administrators: what prevents the listener. */
  readonly reason: string;
}

/** Determines which push is newer: the one with the higher term or, within a term, with the higher revision. */
export interface PushPosition {
  /** Increases with every new leader. Default 0. */
  readonly term?: number;
  /** Increases with every document that an operator publishes. */
  readonly revision: number;
}

export interface PushDocument extends PushPosition {
  readonly document: Document;
}

export interface PushChange extends PushPosition {
  /** The hash to which the change applies. */
  readonly base: string;
  readonly change: Change;
}

/** The response to a push that the node refused. The node keeps its previous document. */
export interface PushRefused {
  readonly message: string;
  readonly violations: readonly Violation[];
}
