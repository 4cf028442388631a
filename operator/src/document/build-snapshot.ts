/** Builds the next snapshot from a translation. Only changes are validated; one bad entity never blocks the others. */

import { isDeepStrictEqual } from "node:util";
import { refKey } from "@sluice/crds";
import {
  bucketDifferences,
  type Change,
  type Collection,
  collections,
  type DocumentListener,
  describeViolation,
  type EndpointChanges,
  type EndpointLists,
  type EndpointSection,
  emptySnapshot,
  endpointSections,
  mayProtect,
  perCollection,
  perEndpointSection,
  references,
  type Snapshot,
  type Violation,
} from "@sluice/model";
import type { Problem } from "../status/conditions.ts";
import { runToCompletion, type TimeSliced } from "../time-slicing.ts";
import { closedOutcome, RESOURCE_NOT_SERVED } from "../translate/fallback/outcome.ts";
import { unavailableReasonFor } from "../translate/fallback/unavailable-entities.ts";
import type { TranslationItem } from "../translate/translation.ts";
import { applyChangeSliced } from "./apply-in-slices.ts";

/** The items of a translation by collection and id. */
type ItemsById = Readonly<Record<Collection, ReadonlyMap<string, TranslationItem>>>;

/** Addresses by the id of the service or upstream. */
type Addresses = { readonly [Name in EndpointSection]: ReadonlyMap<string, EndpointLists[Name]> };

/** The last result, on which the next build is based. */
export interface SnapshotBuild extends Addresses {
  readonly snapshot: Snapshot;
  readonly items: ItemsById;
  /** By name. */
  readonly listeners: ReadonlyMap<string, DocumentListener>;
}

/** The start of the first build: an empty snapshot. */
export const emptyBuild: SnapshotBuild = {
  snapshot: emptySnapshot,
  items: perCollection(() => new Map<string, TranslationItem>()),
  ...perEndpointSection(() => new Map()),
  listeners: new Map(),
};

export interface SnapshotBuildResult {
  readonly built: SnapshotBuild;
  /** Problems found only when the snapshot was built, by owner key. Empty unless the translation missed a violation. */
  readonly problems: ReadonlyMap<string, readonly Problem[]>;
  /** The listeners that were left out because they are invalid: the violations by the listener's name. */
  readonly invalidListeners: ReadonlyMap<string, string>;
}

type Content = Pick<SnapshotBuild, "items" | EndpointSection | "listeners">;

/** Builds without interruption. */
export const buildSnapshot = (previous: SnapshotBuild, translation: Content): SnapshotBuildResult =>
  runToCompletion(buildSnapshotSliced(previous, translation));

export function* buildSnapshotSliced(previous: SnapshotBuild, translation: Content): TimeSliced<SnapshotBuildResult> {
  let { items, listeners } = translation;
  let addresses: Addresses = translation;
  const problems = new Map<string, Problem[]>();
  const invalidListeners = new Map<string, string>();

  function addProblem(owner: TranslationItem["owner"], problem: Problem): void {
    const key = refKey(owner);
    problems.set(key, [...(problems.get(key) ?? []), problem]);
  }

  for (;;) {
    const { endpoints, upstream_endpoints } = addresses;
    const content = { items, endpoints, upstream_endpoints, listeners };
    const change = difference(previous, content);
    const applied = yield* applyChangeSliced(previous.snapshot, change);
    if (!applied.violations) return { built: { snapshot: applied.value, ...content }, problems, invalidListeners };
    const owners = violationOwnersOf(applied.violations, change, items);
    if (owners.items.size === 0 && owners.addresses.size === 0 && owners.listeners.size === 0)
      throw new Error(`the document cannot be built: ${applied.violations.map(describeViolation).join("; ")}`);

    const replaced = new Map<Collection, Map<string, TranslationItem>>();
    for (const [item, { collection, message }] of owners.items) {
      const rest = replaced.get(collection) ?? new Map(items[collection]);
      replaced.set(collection, rest);
      const standIn = unavailableItem(collection, item, message);
      if (standIn) rest.set(item.entity.id, standIn);
      else rest.delete(item.entity.id);
      const outcome = standIn ? closedOutcome(item.owner) : RESOURCE_NOT_SERVED;
      addProblem(item.owner, { condition: "Accepted", reason: "Invalid", message, outcome });
    }
    items = { ...items, ...Object.fromEntries(replaced) };

    for (const [name, message] of owners.listeners) invalidListeners.set(name, message);
    listeners = new Map([...listeners].filter(([name]) => !owners.listeners.has(name)));

    if (owners.addresses.size === 0) continue;
    const replacedLists = perEndpointSection(
      (section) => new Map<string, EndpointLists[EndpointSection]>(addresses[section]),
    );
    for (const { section, id, message } of owners.addresses.values()) {
      const owner = items[endpointSections[section]].get(id)?.owner;
      const lists = replacedLists[section];
      // An empty list makes the node answer 503. Without a list, requests would go to the name of the core Service.
      if (owner && lists.get(id)?.length) lists.set(id, []);
      else lists.delete(id);
      if (owner) addProblem(owner, { condition: "ResolvedRefs", reason: "BackendInvalid", message });
    }
    addresses = replacedLists as Addresses;
  }
}

/** The change between two translations. Parts that both share are skipped; identical objects count as unchanged. */
function difference(previous: Content, next: Content): Change {
  const put: Partial<Record<Collection, unknown[]>> = {};
  const remove: Partial<Record<Collection, string[]>> = {};
  for (const collection of collections) {
    const changed = bucketDifferences(previous.items[collection], next.items[collection]);
    if (changed.length === 0) continue;
    put[collection] = changed.flatMap(({ before, after }) =>
      after && after.entity !== before?.entity ? [after.entity] : [],
    );
    remove[collection] = changed.flatMap(({ key, after }) => (after ? [] : [key]));
  }
  const addresses = perEndpointSection((section) => {
    const changed = bucketDifferences<object>(previous[section], next[section]);
    return Object.fromEntries(
      changed.flatMap(({ key, before, after }) => (isDeepStrictEqual(before, after) ? [] : [[key, after ?? null]])),
    );
  });
  const changedListeners = bucketDifferences(previous.listeners, next.listeners).flatMap(({ key, before, after }) =>
    isDeepStrictEqual(before, after) ? [] : [[key, after ?? null] as const],
  );
  return { put, remove, ...(addresses as EndpointChanges), listeners: Object.fromEntries(changedListeners) };
}

/**
 * Returns the item as one that answers 503, if leaving it out could remove protection; undefined: it is left out. An
 * item that answers 503 already is left out.
 */
function unavailableItem(
  collection: Collection,
  { owner, entity }: TranslationItem,
  message: string,
): TranslationItem | undefined {
  const extras = (entity._sluice ?? {}) as { readonly unavailable?: string };
  if (extras.unavailable !== undefined) return undefined;
  const closed = { ...extras, unavailable: unavailableReasonFor(owner, [message]) };
  if (collection === "routes") return { owner, entity: { ...entity, service: null, _sluice: closed } };
  if (collection === "plugins" && mayProtect(entity.name))
    return { owner, entity: { ...entity, config: {}, _sluice: closed } };
  return undefined;
}

/**
 * Returns the invalid items, the Services and Upstreams with invalid addresses, and the invalid listeners, with the
 * reasons.
 *
 * @param violations With paths as `applyChange` reports them.
 */
function violationOwnersOf(violations: readonly Violation[], change: Change, items: ItemsById) {
  const found = new Map<TranslationItem, { collection: Collection; message: string }>();
  const addresses = new Map<string, { section: EndpointSection; id: string; message: string }>();
  const listeners = new Map<string, string>();
  const add = (collection: Collection, item: TranslationItem | undefined, message: string): void => {
    if (item && !found.has(item)) found.set(item, { collection, message });
  };
  for (const violation of violations) {
    const [first, second, third] = violation.path as [string, string | number, string | number];
    if (first === "_sluice" && second === "listeners") {
      listeners.set(`${third}`, describeViolation({ ...violation, path: violation.path.slice(3) }));
    } else if (first === "_sluice") {
      const [section, id] = [second as EndpointSection, `${third}`];
      addresses.set(`${section} ${id}`, { section, id, message: describeViolation(violation) });
    } else if (first === "remove") {
      const { message } = violation;
      const id = change.remove[second as Collection]?.[Number(third)];
      for (const [collection, item] of id === undefined ? [] : dependents(items, second as Collection, id))
        add(collection, item, message);
    } else {
      const collection = first as Collection;
      const entity = change.put[collection]?.[Number(second)] as { readonly id?: string } | undefined;
      const message = describeViolation({ ...violation, path: violation.path.slice(2) });
      add(collection, entity?.id === undefined ? undefined : items[collection].get(entity.id), message);
    }
  }
  return { items: found, addresses, listeners };
}

/** The items that refer to an entity: they are invalid when it is removed. */
function* dependents(
  items: ItemsById,
  parent: Collection,
  id: string,
): Generator<readonly [Collection, TranslationItem]> {
  for (const collection of collections)
    for (const { member, to } of references[collection])
      if (to === parent)
        for (const item of items[collection].values())
          if ((item.entity[member] as { readonly id?: string } | null | undefined)?.id === id) yield [collection, item];
}
