/**
 * Applies a large change in slices, so that it need not run in one turn of the event loop. The result is the same as
 * that of `applyChange`.
 */
import { applyChange, type Change, type Checked, type Collection, collections, type Snapshot } from "@sluice/model";
import type { TimeSliced } from "../time-slicing.ts";

const ENTITIES_PER_SLICE = 200;

export function* applyChangeSliced(previous: Snapshot, change: Change): TimeSliced<Checked<Snapshot>> {
  const parts = [...slicesOf(change)];
  if (parts.length === 1) return applyChange(previous, change);
  let applied: Checked<Snapshot> = { value: previous };
  for (const part of parts) {
    yield;
    if (applied.value === undefined) break;
    applied = applyChange(applied.value, part);
  }
  // After a violation in a slice, the change is applied again as a whole. Perhaps a name only moves from one entity to
  // another, which is valid in one step. Otherwise the paths of the violations must refer to the whole change.
  return applied.violations ? applyChange(previous, change) : applied;
}

function* slicesOf({ put, remove, ...endpoints }: Change): Generator<Change> {
  let waiting: Partial<Record<Collection, readonly unknown[]>> = {};
  let room = ENTITIES_PER_SLICE;
  // In the order of the collections, parents come before children.
  for (const collection of collections) {
    const items = put[collection] ?? [];
    for (let at = 0; at < items.length; ) {
      const some = items.slice(at, at + room);
      waiting = { ...waiting, [collection]: some };
      at += some.length;
      room -= some.length;
      if (room > 0) continue;
      yield { put: waiting, remove: {} };
      waiting = {};
      room = ENTITIES_PER_SLICE;
    }
  }
  yield { put: waiting, remove, ...endpoints };
}
