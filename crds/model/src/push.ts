/**
 * What the operator and a node say to each other: the one place where operator and gateway meet.
 *
 * | request to the node's push listener | body | answer |
 * |---|---|---|
 * | GET /document | - | 200 NodeState |
 * | PUT /document | PushDocument | 200 NodeState, 400 PushRefused |
 * | PATCH /document | PushChange | 200 NodeState, 400 PushRefused, 409 NodeState when the node runs another hash than `base` |
 *
 * An answer of 200 is the acknowledgement: the node serves that hash from then on.
 */
import type { Change, Document } from "./document.ts";
import type { Violation } from "./violation.ts";

/** What a node runs. */
export interface NodeState {
  /** The node's id (UUID), new at every start. */
  readonly node: string;
  /** Hash of the snapshot that it serves; null before the first document. */
  readonly hash: string | null;
  /** The operator's revision of that snapshot; 0 before the first document. */
  readonly revision: number;
  /** Version of the node's software. */
  readonly version: string;
  /** Port of its status listener, on the host of its push listener; absent when it has none. */
  readonly statusPort?: number;
}

export interface PushDocument {
  /** Grows with every document that an operator publishes. */
  readonly revision: number;
  readonly document: Document;
}

export interface PushChange {
  readonly revision: number;
  /** The hash that the change starts from. */
  readonly base: string;
  readonly change: Change;
}

/** The node keeps what it had. */
export interface PushRefused {
  readonly message: string;
  readonly violations: readonly Violation[];
}
