/**
 * The push protocol between the operator and a node: the only types that operator and gateway share.
 *
 * | request to the node's push listener | body | answer |
 * |---|---|---|
 * | GET /document | - | 200 NodeState |
 * | PUT /document | PushDocument | 200 NodeState, 400 PushRefused |
 * | PATCH /document | PushChange | 200 NodeState, 400 PushRefused, 409 NodeState when the node runs another hash than `base` |
 *
 * An answer of 200 is the acknowledgement: the node serves that hash from then on. Both are answered 412 PushRefused when
 * they are outdated: their term is lower than the highest that the node has seen, or their revision is lower than the one
 * that it serves of the same term. So a deposed leader that does not know it yet changes nothing.
 */
import type { Change, Document } from "./document.ts";
import type { Violation } from "./violation.ts";

/** The state that a node reports. */
export interface NodeState {
  /** The node's id (UUID), new at every start. */
  readonly node: string;
  /** Hash of the snapshot that it serves; null before the first document. */
  readonly hash: string | null;
  /** The operator's revision of that snapshot; 0 before the first document. */
  readonly revision: number;
  /** The highest operator term seen; 0 before the first push. Absent on a node without a push listener. */
  readonly term?: number;
  /** Version of the node's software. */
  readonly version: string;
  /** Port of its status listener, on the host of its push listener; absent when it has none. */
  readonly statusPort?: number;
}

/** The place of a push among all: those of a higher term are newer, then those of a higher revision. */
export interface PushPlace {
  /** Grows with every operator that begins to lead. Default 0. */
  readonly term?: number;
  /** Grows with every document that an operator publishes. */
  readonly revision: number;
}

export interface PushDocument extends PushPlace {
  readonly document: Document;
}

export interface PushChange extends PushPlace {
  /** The hash that the change starts from. */
  readonly base: string;
  readonly change: Change;
}

/** The node keeps what it had. */
export interface PushRefused {
  readonly message: string;
  readonly violations: readonly Violation[];
}
