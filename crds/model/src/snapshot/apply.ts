/**
 * Applies changes and documents to a snapshot: the whole change is applied, or all of its violations are returned.
 *
 * Unchanged parts are shared: an unchanged entity is the same object and an unchanged map the same map. Entities are
 * ordered by id, so that equal content gives equal snapshots regardless of the sequence of changes.
 */

import { type Checked, isRecord, type Violation } from "@sluice/plugin-sdk";
import { type CheckOptions, checkEntity } from "../check/index.ts";
import { type Change, type Document, type EndpointChanges, perEndpointSection } from "../document.ts";
import { type Collection, collections, perCollection } from "../entities/index.ts";
import { canonicalJson } from "../ids.ts";
import { pluginNamed } from "../plugins/index.ts";
import type { Snapshot } from "../snapshot.ts";
import { combineChange } from "./combine-change.ts";
import { adoptDigest, digestOf, isEntitySection } from "./compact.ts";
import { checkEndpoints } from "./constraints/endpoints.ts";
import type { Removals } from "./constraints/integrity.ts";
import { type CheckedListeners, checkChangedListeners, checkListenerList } from "./constraints/listeners.ts";
import { duplicateIdMessage } from "./constraints/uniqueness.ts";
import { deriveEntityIndex, entityIndexOf, type GetEntityIndex } from "./entity-index.ts";
import { makeSnapshot, sectionDifferences } from "./make-snapshot.ts";
import { type EntityPut, type StoredEntity, toStoredEntity } from "./stored-entity.ts";

export type ApplyChangeOptions = Pick<CheckOptions, "database" | "closePlugins">;

/**
 * Applies a change. Removals of unknown ids are ignored; an entity whose id is in both `remove` and `put` is kept.
 * Paths of violations: `["routes", 0, ...]` for a put item, `["remove", "routes", 0]` for a removal, and `["_sluice",
 * "endpoints", id, ...]` for addresses of a service, `["_sluice", "listeners", name, ...]` for a listener. Unset timestamps become 0, so that the result does not depend on
 * the clock.
 */
export function applyChange(previous: Snapshot, change: Change, options: ApplyChangeOptions = {}): Checked<Snapshot> {
  const listeners = checkChangedListeners(change.listeners);
  return advance({ previous, change, listeners, options }, removalsOf(change));
}

const NO_REMOVALS: ReturnType<Removals> = new Map();

const removalsOf =
  ({ remove }: Change): Removals =>
  (collection) => {
    const ids = remove[collection];
    if (ids === undefined) return NO_REMOVALS;
    return new Map(ids.map((id, index) => [id.toLowerCase(), ["remove", collection, index]]));
  };

/**
 * Applies a whole flat document: entities that it does not contain are removed. Paths of violations start at the
 * document.
 */
export function applyDocument(
  previous: Snapshot,
  document: Document,
  options: ApplyChangeOptions = {},
): Checked<Snapshot> {
  const addresses = perEndpointSection((section) => {
    const given: Readonly<Record<string, unknown>> = document._sluice?.[section] ?? {};
    const stale = [...previous[section].keys()].filter((id) => !Object.hasOwn(given, id));
    return { ...given, ...Object.fromEntries(stale.map((id) => [id, null])) };
  });
  const change: Change = { put: document, remove: {}, ...(addresses as EndpointChanges) };
  const removals: Removals = (collection) => new Map([...previous[collection].keys()].map((id) => [id, [collection]]));
  const listeners = checkListenerList(document._sluice?.listeners, previous.listeners);
  return advance({ previous, change, listeners, options }, removals);
}

interface Advance {
  readonly previous: Snapshot;
  readonly change: Change;
  readonly listeners: CheckedListeners;
  readonly options: ApplyChangeOptions;
}

function advance({ previous, change, listeners, options }: Advance, removals: Removals): Checked<Snapshot> {
  const { puts, faulty, violations: faults } = checkPuts({ previous, change, options });
  const lookups: GetEntityIndex = (collection) => entityIndexOf(collection, previous[collection]);
  const endpoints = checkEndpoints(change);
  const { maps, violations } = combineChange({
    previous,
    puts,
    faulty,
    endpoints: endpoints.lists,
    listeners: listeners.listeners,
    removals,
    lookups,
  });
  const all = [...faults, ...endpoints.violations, ...listeners.violations, ...violations];
  if (all.length > 0) return { violations: all };
  const differing = sectionDifferences(previous, maps);
  for (const { section, differences } of differing)
    if (isEntitySection(section)) deriveEntityIndex(section, { before: previous, after: maps, differences });
  return { value: makeSnapshot(previous, maps, differing) };
}

function checkPuts({ previous, change, options }: Omit<Advance, "listeners">) {
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
  readonly held: ReadonlyMap<string, StoredEntity>;
  readonly options: ApplyChangeOptions;
}

interface CheckedItems {
  readonly puts: readonly EntityPut[];
  /** Ids of invalid items. */
  readonly faulty: ReadonlySet<string>;
  readonly violations: readonly Violation[];
}

const NO_ITEMS: CheckedItems = { puts: [], faulty: new Set(), violations: [] };

function checkItems(collection: Collection, { items, held, options }: Items): CheckedItems {
  if (items.length === 0) return NO_ITEMS;
  const puts = new Map<string, EntityPut>();
  const faulty = new Set<string>();
  const violations: Violation[] = [];
  for (const [index, raw] of items.entries()) {
    const path = [collection, index];
    const checked: Checked<StoredEntity> = checkEntity(collection, raw, options);
    if (checked.value === undefined) {
      violations.push(...checked.violations.map((violation) => ({ ...violation, path: [...path, ...violation.path] })));
      if (isRecord(raw) && typeof raw.id === "string") faulty.add(raw.id.toLowerCase());
      continue;
    }
    const entity = toStoredEntity(collection, checked.value);
    if (isMissingHere(collection, raw, entity)) adoptDigest(entity, raw as object);
    const before = held.get(entity.id);
    const twin = puts.get(entity.id);
    if (twin !== undefined) violations.push({ path, message: duplicateIdMessage(collection, entity, twin.entity) });
    else if (before && collection === "plugins" && keepsPrevious(raw, before, entity))
      puts.set(entity.id, { path, entity: before });
    else puts.set(entity.id, { path, entity: same(collection, before, entity) });
  }
  return { puts: [...puts.values()], faulty, violations };
}

const same = (collection: Collection, before: StoredEntity | undefined, now: StoredEntity): StoredEntity =>
  before !== undefined && digestOf(collection, before) === digestOf(collection, now) ? before : now;

/**
 * Whether a plugin's previous version stays in use. A newer operator may give the plugin members that this node cannot
 * read. The node then keeps an available previous version with the same scope, so that an upgrade does not turn served
 * routes into 503 responses.
 */
const keepsPrevious = (raw: unknown, before: StoredEntity, now: StoredEntity): boolean =>
  isClosedHere(raw, now) && protectsAlike(before, now);

/** Whether the check marked the plugin as unavailable because this process does not have a plugin of that name. */
const isMissingHere = (collection: Collection, raw: unknown, entity: StoredEntity): boolean =>
  collection === "plugins" && isClosedHere(raw, entity) && pluginNamed(entity.name) === undefined;

const unavailable = ({ _sluice }: Readonly<Record<string, unknown>>): unknown => Object(_sluice).unavailable;

/** Whether the plugin was marked as unavailable by the check, and not by the change itself. */
const isClosedHere = (raw: unknown, entity: StoredEntity): boolean =>
  unavailable(entity) !== undefined && isRecord(raw) && (unavailable(raw) ?? null) === null;

/** Whether the previous version is available and has the same scope. */
const protectsAlike = (before: StoredEntity, now: StoredEntity): boolean =>
  unavailable(before) === undefined && scopeOf(before) === scopeOf(now);

const scopeOf = ({ name, enabled, route, service, consumer, consumer_group, protocols }: StoredEntity): string =>
  canonicalJson({ name, enabled, route, service, consumer, consumer_group, protocols });
