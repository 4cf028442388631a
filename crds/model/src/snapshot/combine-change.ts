/** Applies a checked change to the maps of a snapshot, and checks references and uniqueness between entities. */

import type { Violation } from "@sluice/plugin-sdk";
import { type DocumentListener, endpointSections, perEndpointSection } from "../document.ts";
import { perCollection } from "../entities/index.ts";
import { BucketMap, hashOfId, hashOfText, type KeyHash } from "./bucket-map.ts";
import { digestOf } from "./compact.ts";
import type { EndpointList } from "./constraints/endpoints.ts";
import {
  type CheckedChange,
  findBlockedRemovals,
  findDanglingReferences,
  type PendingChange,
} from "./constraints/integrity.ts";
import type { ChangedListeners } from "./constraints/listeners.ts";
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
  const homeless = perEndpointSection((section) => {
    const { [section]: owners } = endpointSections;
    return [...endpoints[section]]
      .filter(([id, list]) => list !== null && !next[owners].has(id) && !faulty[owners].has(id))
      .map(([id]) => ({
        path: ["_sluice", section, id],
        message: `invalid reference '${section}: ${id}' (no such entry in '${owners}')`,
      }));
  });
  const violations: readonly Violation[] = [
    ...findDanglingReferences(draft),
    ...findBlockedRemovals(draft),
    ...findDuplicates(draft),
    ...Object.values(homeless).flat(),
  ];
  const addresses = perEndpointSection((section) => {
    const dropped = [...gone[endpointSections[section]].keys()].map((id): [string, null] => [id, null]);
    return stepEndpoints(previous[section], [...endpoints[section], ...dropped]);
  });
  const listeners = stepListeners(previous.listeners, change.listeners);
  return { maps: { ...next, ...addresses, listeners } as SnapshotMaps, violations };
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
  keyHash: KeyHash = hashOfId,
): ReadonlyMap<string, Value> {
  const before = BucketMap.of(held, keyHash);
  const after = before.with(changes);
  return after === before ? held : after;
}

function stepEndpoints(
  held: ReadonlyMap<string, EndpointList>,
  lists: Iterable<readonly [string, EndpointList | null]>,
): ReadonlyMap<string, EndpointList> {
  const same = (before: EndpointList | undefined, list: EndpointList) =>
    before !== undefined && digestOf("endpoints", before) === digestOf("endpoints", list);
  return changed(
    held,
    Array.from(lists, ([id, list]) => {
      const before = held.get(id);
      return [id, list === null ? undefined : same(before, list) ? before : list] as const;
    }),
  );
}

function stepListeners(held: ReadonlyMap<string, DocumentListener>, listeners: ChangedListeners) {
  const isSame = (before: DocumentListener | undefined, listener: DocumentListener) =>
    before !== undefined && digestOf("listeners", before) === digestOf("listeners", listener);
  const changes = Array.from(listeners, ([name, listener]) => {
    const before = held.get(name);
    return [name, listener === null ? undefined : isSame(before, listener) ? before : listener] as const;
  });
  return changed(held, changes, hashOfText);
}
