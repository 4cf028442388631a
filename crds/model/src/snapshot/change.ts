/** Conversions between documents, changes and snapshots. */
import {
  type Change,
  type Document,
  type EndpointChanges,
  endpointSections,
  type PerEndpointSection,
  perEndpointSection,
} from "../document.ts";
import { type Collection, collections } from "../entities/index.ts";
import type { Snapshot } from "../snapshot.ts";
import { bucketDifferences } from "./bucket-map.ts";
import { compactValue, digestOf, type Section } from "./compact.ts";

/** The minimal change from one snapshot to the other, in the order of ids. */
export function changeBetween(previous: Snapshot, next: Snapshot): Change {
  const differ = (section: Section) =>
    bucketDifferences<object>(previous[section], next[section]).filter(
      ({ before, after }) => !before || !after || digestOf(section, before) !== digestOf(section, after),
    );
  const changed = Object.fromEntries(collections.map((collection) => [collection, differ(collection)]));
  const of = (collection: Collection) => changed[collection] ?? [];
  const put = lists((collection) => of(collection).flatMap(({ after }) => (after ? [after] : [])));
  const remove = lists((collection) => of(collection).flatMap(({ key, after }) => (after ? [] : [key])));
  // Removing a service or an upstream also removes its addresses.
  const addresses = perEndpointSection((section) =>
    differ(section)
      .filter(({ key, after }) => after || next[endpointSections[section]].has(key))
      .map(({ key, after }) => [key, after ?? null] as const),
  );
  const listeners = differ("listeners").map(({ key, after }) => [key, after ?? null] as const);
  return {
    put,
    remove,
    ...(filledSections(addresses) as EndpointChanges),
    ...(listeners.length > 0 && { listeners: Object.fromEntries(listeners) as Change["listeners"] }),
  };
}

/** The change with compact entities, as it is pushed. */
export const compactChange = (change: Change): Change => ({
  ...change,
  put: lists((collection) => compactAll(collection, change.put[collection] ?? [])),
});

/**
 * The flat document of a snapshot, with compact entities and sorted listeners. Credentials have the hashes that the
 * snapshot stores.
 */
export function snapshotToDocument(snapshot: Snapshot): Document {
  const flat = lists((collection) => compactAll(collection, snapshot[collection].values()));
  const addresses = filledSections(perEndpointSection((section) => [...snapshot[section]]));
  const listeners = [...snapshot.listeners.values()].sort(({ name }, other) => (name < other.name ? -1 : 1));
  const members = { ...addresses, ...(listeners.length > 0 && { listeners }) };
  const extras = Object.keys(members).length === 0 ? {} : { _sluice: members };
  return { _format_version: "3.0", ...flat, ...extras };
}

/** The sections as records; empty sections are left out, because older nodes do not know all of them. */
const filledSections = (sections: PerEndpointSection<readonly (readonly [string, unknown])[]>) =>
  Object.fromEntries(
    Object.entries(sections)
      .filter(([, entries]) => entries.length > 0)
      .map(([section, entries]) => [section, Object.fromEntries(entries)]),
  );

const compactAll = (collection: Collection, entities: Iterable<unknown>): readonly object[] =>
  Array.from(entities, (entity) => compactValue(collection, entity as object));

/** The items of each collection, by its name; empty collections are left out. */
function lists<Item>(
  itemsOf: (collection: Collection) => readonly Item[],
): Partial<Record<Collection, readonly Item[]>> {
  return Object.fromEntries(
    collections.map((collection) => [collection, itemsOf(collection)] as const).filter(([, items]) => items.length > 0),
  );
}
