/** Applies a checked change to the maps of a snapshot, and checks references and uniqueness between entities. */

import type { Violation } from "@sluice/plugin-sdk";
import type { ServiceEndpoint } from "../document.ts";
import { perCollection } from "../entities/index.ts";
import type { Snapshot } from "../snapshot.ts";
import { BucketMap, byId } from "./bucket-map.ts";
import { digestOf } from "./compact.ts";
import {
  type CheckedChange,
  findBlockedRemovals,
  findDanglingReferences,
  type PendingChange,
} from "./constraints/integrity.ts";
import { findDuplicates } from "./constraints/uniqueness.ts";
import type { SnapshotMaps } from "./make-snapshot.ts";
import type { EntityPut, StoredEntity } from "./stored-entity.ts";

/** The maps after the change, and its violations; the maps are valid only when there are no violations. */
export function combineChange(change: CheckedChange) {
  const { previous, puts, faulty, removals, endpoints } = change;
  const steps = perCollection((collection) => step(previous[collection], puts[collection], removals(collection)));
  const next = perCollection((collection) => steps[collection].next);
  const gone = perCollection((collection) => steps[collection].gone);
  const draft: PendingChange = { ...change, next, gone };
  const homeless = [...endpoints]
    .filter(([id, list]) => list !== null && !next.services.has(id) && !faulty.services.has(id))
    .map(([id]) => ({
      path: ["_sluice", "endpoints", id],
      message: `invalid reference 'endpoints: ${id}' (no such entry in 'services')`,
    }));
  const violations: readonly Violation[] = [
    ...findDanglingReferences(draft),
    ...findBlockedRemovals(draft),
    ...findDuplicates(draft),
    ...homeless,
  ];
  const dropped = [...gone.services.keys()].map((id): [string, null] => [id, null]);
  const addresses = stepEndpoints(previous.endpoints, [...endpoints, ...dropped]);
  return { maps: { ...next, endpoints: addresses } as SnapshotMaps, violations };
}

const NOTHING: ReadonlyMap<string, Violation["path"]> = new Map();

function step(
  held: ReadonlyMap<string, StoredEntity>,
  puts: readonly EntityPut[],
  removed: ReadonlyMap<string, Violation["path"]>,
) {
  // Most changes touch only one of the many collections.
  if (puts.length === 0 && removed.size === 0) return { next: held, gone: NOTHING };
  const put = new Set(puts.map(({ entity }) => entity.id));
  const gone = new Map([...removed].filter(([id]) => held.has(id) && !put.has(id)));
  const changes: (readonly [string, StoredEntity | undefined])[] = [
    ...[...gone.keys()].map((id) => [id, undefined] as const),
    ...puts.map(({ entity }) => [entity.id, entity] as const),
  ];
  return { next: changed(held, changes), gone };
}

/** The map `held` after the changes; `held` itself when nothing changes. */
function changed<Value>(
  held: ReadonlyMap<string, Value>,
  changes: readonly (readonly [string, Value | undefined])[],
): ReadonlyMap<string, Value> {
  const before = BucketMap.of(held, byId);
  const after = before.with(changes);
  return after === before ? held : after;
}

function stepEndpoints(
  held: Snapshot["endpoints"],
  lists: readonly (readonly [string, readonly ServiceEndpoint[] | null])[],
): Snapshot["endpoints"] {
  const same = (before: readonly ServiceEndpoint[] | undefined, list: readonly ServiceEndpoint[]) =>
    before !== undefined && digestOf("endpoints", before) === digestOf("endpoints", list);
  return changed(
    held,
    lists.map(([id, list]) => {
      const before = held.get(id);
      return [id, list === null ? undefined : same(before, list) ? before : list] as const;
    }),
  );
}
