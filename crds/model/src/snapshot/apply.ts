/**
 * From one snapshot to the next: a change is checked as a whole and applied as a whole, or its faults are returned.
 *
 * What a change does not touch is shared: an unchanged entity is the same object and an unchanged map the same map.
 * Entities stand in the order of their ids, so that equal content looks the same whatever the way it came.
 */
import { type CheckOptions, checkEntity } from "../check/index.ts";
import type { Change, Document, Endpoint } from "../document.ts";
import { type Collection, collections } from "../entities/index.ts";
import { perCollection } from "../entities/per-collection.ts";
import { isRecord } from "../schema/walk.ts";
import type { Snapshot } from "../snapshot.ts";
import type { Checked, Violation } from "../violation.ts";
import { BucketMap, byId } from "./bucket-map.ts";
import { checkEndpoints } from "./endpoints.ts";
import { digestOf } from "./hash.ts";
import { type Held, hold, type Put } from "./held.ts";
import { type Draft, findDangling, findStranded } from "./integrity.ts";
import { isClosedHere, protectsAlike } from "./last-valid-plugin.ts";
import { carryOn } from "./lookup.ts";
import { type Maps, makeSnapshot } from "./make.ts";
import { findClashes, sameIdentity } from "./uniqueness.ts";

export type ApplyOptions = Pick<CheckOptions, "database" | "closePlugins">;

/**
 * Applies a change. Removed ids that are not there are passed over; an id that is both removed and put is put.
 * Paths of violations: `["routes", 0, ...]` for a put item, `["remove", "routes", 0]` for a removal,
 * `["_sluice", "endpoints", id, ...]` for addresses. An entity without timestamps gets 0: nothing depends on a clock.
 */
export function applyChange(previous: Snapshot, change: Change, options: ApplyOptions = {}): Checked<Snapshot> {
  return advance({ previous, change, options }, (collection) => {
    const ids = change.remove[collection] ?? [];
    return new Map(ids.map((id, index) => [id.toLowerCase(), ["remove", collection, index]]));
  });
}

/** Applies a whole flat document: what it does not have is removed. Paths start in the document. */
export function applyDocument(previous: Snapshot, document: Document, options: ApplyOptions = {}): Checked<Snapshot> {
  const endpoints = document._sluice?.endpoints ?? {};
  const stale = [...previous.endpoints.keys()].filter((id) => !Object.hasOwn(endpoints, id));
  const change: Change = {
    put: Object.fromEntries(collections.map((collection) => [collection, document[collection] ?? []])),
    remove: {},
    endpoints: { ...endpoints, ...Object.fromEntries(stale.map((id) => [id, null])) },
  };
  return advance({ previous, change, options }, (collection) => {
    return new Map([...previous[collection].keys()].map((id) => [id, [collection]]));
  });
}

/** The ids to remove from a collection, each with the path that names it in violations. */
type Removals = (collection: Collection) => ReadonlyMap<string, Violation["path"]>;

interface Advance {
  readonly previous: Snapshot;
  readonly change: Change;
  readonly options: ApplyOptions;
}

function advance({ previous, change, options }: Advance, removals: Removals): Checked<Snapshot> {
  const { puts, faulty, violations: faults } = checkPuts({ previous, change, options });
  const endpoints = checkEndpoints(change.endpoints);

  const steps = perCollection((collection) => step(previous[collection], puts[collection], removals(collection)));
  const next = perCollection((collection) => steps[collection].next);
  const gone = perCollection((collection) => steps[collection].gone);
  const draft: Draft = { previous, puts, faulty, next, gone };
  const homeless = [...endpoints.lists]
    .filter(([id, list]) => list !== null && !next.services.has(id) && !faulty.services.has(id))
    .map(([id]) => ({
      path: ["_sluice", "endpoints", id],
      message: `invalid reference 'endpoints: ${id}' (no such entry in 'services')`,
    }));
  const violations = [
    ...faults,
    ...endpoints.violations,
    ...findDangling(draft),
    ...findStranded(draft),
    ...findClashes(draft),
    ...homeless,
  ];
  if (violations.length > 0) return { violations };

  const dropped = [...gone.services.keys()].map((id): [string, null] => [id, null]);
  const addresses = stepEndpoints(previous.endpoints, [...endpoints.lists, ...dropped]);
  for (const collection of collections) carryOn(collection, previous[collection], next[collection]);
  return { value: makeSnapshot(previous, { ...next, endpoints: addresses } as Maps) };
}

function checkPuts({ previous, change, options }: Advance) {
  const checked = perCollection((collection) => {
    const items = change.put[collection] ?? [];
    return checkItems(collection, { items, held: previous[collection], options });
  });
  return {
    puts: perCollection((collection) => checked[collection].puts),
    faulty: perCollection((collection) => checked[collection].faulty),
    violations: collections.flatMap((collection) => checked[collection].violations),
  };
}

interface Items {
  readonly items: readonly unknown[];
  readonly held: ReadonlyMap<string, Held>;
  readonly options: ApplyOptions;
}

function checkItems(collection: Collection, { items, held, options }: Items) {
  const puts = new Map<string, Put>();
  const faulty = new Set<string>();
  const violations: Violation[] = [];
  for (const [index, raw] of items.entries()) {
    const path = [collection, index];
    const checked: Checked<Held> = checkEntity(collection, raw, options);
    if (checked.value === undefined) {
      violations.push(...checked.violations.map((violation) => ({ ...violation, path: [...path, ...violation.path] })));
      if (isRecord(raw) && typeof raw.id === "string") faulty.add(raw.id.toLowerCase());
      continue;
    }
    const entity = hold(collection, checked.value);
    const before = held.get(entity.id);
    const twin = puts.get(entity.id);
    if (twin !== undefined) violations.push({ path, message: sameIdentity(collection, entity, twin.entity) });
    else if (before && isClosedHere(raw, entity) && protectsAlike(before, entity))
      puts.set(entity.id, { path, entity: before });
    else puts.set(entity.id, { path, entity: same(before, entity) });
  }
  return { puts: [...puts.values()], faulty, violations };
}

const same = (before: Held | undefined, now: Held): Held =>
  before !== undefined && digestOf(before) === digestOf(now) ? before : now;

function step(held: ReadonlyMap<string, Held>, puts: readonly Put[], removed: ReadonlyMap<string, Violation["path"]>) {
  const put = new Set(puts.map(({ entity }) => entity.id));
  const gone = new Map([...removed].filter(([id]) => held.has(id) && !put.has(id)));
  const changes: (readonly [string, Held | undefined])[] = [
    ...[...gone.keys()].map((id) => [id, undefined] as const),
    ...puts.map(({ entity }) => [entity.id, entity] as const),
  ];
  return { next: changed(held, changes), gone };
}

/** The map itself when nothing changes. */
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
  lists: readonly (readonly [string, readonly Endpoint[] | null])[],
): Snapshot["endpoints"] {
  const same = (before: readonly Endpoint[] | undefined, list: readonly Endpoint[]) =>
    before !== undefined && digestOf(before) === digestOf(list);
  return changed(
    held,
    lists.map(([id, list]) => {
      const before = held.get(id);
      return [id, list === null ? undefined : same(before, list) ? before : list] as const;
    }),
  );
}
