/** Conversions between documents, changes and snapshots. */
import type { Change, Document } from "../document.ts";
import { type Collection, collections } from "../entities/index.ts";
import type { Snapshot } from "../snapshot.ts";
import { differences } from "./bucket-map.ts";
import { compact, digestOf, type Section } from "./compact.ts";

/** The minimal change from one snapshot to the other, in the order of ids. */
export function changeBetween(previous: Snapshot, next: Snapshot): Change {
  const differ = (section: Section) =>
    differences<object>(previous[section], next[section]).filter(
      ({ before, after }) => !before || !after || digestOf(section, before) !== digestOf(section, after),
    );
  const changed = Object.fromEntries(collections.map((collection) => [collection, differ(collection)]));
  const of = (collection: Collection) => changed[collection] ?? [];
  const put = lists((collection) => of(collection).flatMap(({ after }) => (after ? [after] : [])));
  const remove = lists((collection) => of(collection).flatMap(({ key, after }) => (after ? [] : [key])));
  // Removing a service also removes its addresses.
  const addresses = differ("endpoints").filter(({ key, after }) => after || next.services.has(key));
  if (addresses.length === 0) return { put, remove };
  const endpoints = Object.fromEntries(addresses.map(({ key }) => [key, next.endpoints.get(key) ?? null]));
  return { put, remove, endpoints };
}

/** The change with compact entities, as it is pushed. */
export const compactChange = (change: Change): Change => ({
  ...change,
  put: lists((collection) => compactAll(collection, change.put[collection] ?? [])),
});

/** The flat document of a snapshot, with compact entities. Credentials have the hashes that the snapshot stores. */
export function snapshotToDocument(snapshot: Snapshot): Document {
  const flat = lists((collection) => compactAll(collection, snapshot[collection].values()));
  const endpoints = Object.fromEntries(snapshot.endpoints);
  const extras = Object.keys(endpoints).length === 0 ? {} : { _sluice: { endpoints } };
  return { _format_version: "3.0", ...flat, ...extras };
}

const compactAll = (collection: Collection, entities: Iterable<unknown>): readonly object[] =>
  Array.from(entities, (entity) => compact(collection, entity as object));

/** The items of each collection, by its name; empty collections are left out. */
function lists<Item>(
  itemsOf: (collection: Collection) => readonly Item[],
): Partial<Record<Collection, readonly Item[]>> {
  return Object.fromEntries(
    collections.map((collection) => [collection, itemsOf(collection)] as const).filter(([, items]) => items.length > 0),
  );
}
