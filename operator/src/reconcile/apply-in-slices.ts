/** Applies a long change in parts, so that it need not be done in one turn. The snapshot is the same. */
import {
  applyChange,
  type Change,
  type Checked,
  type Collection,
  collections,
  references,
  type Snapshot,
} from "@sluice/model";
import type { TimeSliced } from "../time-slicing.ts";

/** Entities that are put at once. */
const ENTITIES_PER_SLICE = 200;

/** Whoever is referred to comes before who refers. */
const order: readonly Collection[] = parentsFirst();

export function* applyChangeSliced(previous: Snapshot, change: Change): TimeSliced<Checked<Snapshot>> {
  const parts = [...slicesOf(change)];
  if (parts.length === 1) return applyChange(previous, change);
  let applied: Checked<Snapshot> = { value: previous };
  for (const part of parts) {
    yield;
    if (applied.value === undefined) break;
    applied = applyChange(applied.value, part);
  }
  // A name goes from one entity to another, or there are faults, which are told of by their places in the whole change.
  return applied.violations ? applyChange(previous, change) : applied;
}

function* slicesOf({ put, remove, endpoints }: Change): Generator<Change> {
  let waiting: Partial<Record<Collection, readonly unknown[]>> = {};
  let room = ENTITIES_PER_SLICE;
  for (const collection of order) {
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
  yield { put: waiting, remove, ...(endpoints && { endpoints }) };
}

function parentsFirst(): readonly Collection[] {
  const seen = new Set<Collection>();
  const found: Collection[] = [];
  const add = (collection: Collection): void => {
    if (seen.has(collection)) return;
    seen.add(collection);
    for (const { to } of references[collection]) add(to);
    found.push(collection);
  };
  for (const collection of collections) add(collection);
  return found;
}
