/**
 * The contents of pushes, computed once for all nodes that get the same: many nodes run the same hash and need the same
 * change.
 */

import type { Change, Document, Snapshot } from "@sluice/model";
import * as model from "@sluice/model";

const changes = new WeakMap<Snapshot, Map<string, Change>>();
let whole: { readonly snapshot: Snapshot; readonly document: Document } | undefined;

/** Returns the same object for the same two snapshots, as long as the later snapshot is referenced. */
export function sharedChange(previous: Snapshot, next: Snapshot): Change {
  const known = changes.get(next) ?? new Map<string, Change>();
  changes.set(next, known);
  const change = known.get(previous.hash) ?? model.changeBetween(previous, next);
  known.set(previous.hash, change);
  return change;
}

/** Returns the same object until another snapshot is requested. */
export function sharedDocument(snapshot: Snapshot): Document {
  if (whole?.snapshot !== snapshot) whole = { snapshot, document: model.snapshotToDocument(snapshot) };
  return whole.document;
}
