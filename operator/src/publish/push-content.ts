/** What nodes get, made once for all that get the same: very many nodes are at the same hash, and want the same. */

import type { Change, Document, Snapshot } from "@sluice/model";
import * as model from "@sluice/model";

const changes = new WeakMap<Snapshot, Map<string, Change>>();
let whole: { readonly snapshot: Snapshot; readonly document: Document } | undefined;

/** The very same object for the same two snapshots, while the later one is held. */
export function sharedChange(previous: Snapshot, next: Snapshot): Change {
  const known = changes.get(next) ?? new Map<string, Change>();
  changes.set(next, known);
  const change = known.get(previous.hash) ?? model.changeBetween(previous, next);
  known.set(previous.hash, change);
  return change;
}

/** The very same object until another snapshot is asked for. */
export function sharedDocument(snapshot: Snapshot): Document {
  if (whole?.snapshot !== snapshot) whole = { snapshot, document: model.snapshotToDocument(snapshot) };
  return whole.document;
}
