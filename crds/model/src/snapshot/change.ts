/** Between documents, changes and snapshots. */
import type { Change, Document, Endpoint } from "../document.ts";
import { type Collection, collections } from "../entities/index.ts";
import type { Snapshot } from "../snapshot.ts";
import { digestOf } from "./hash.ts";

/** The change that makes a flat document of the empty snapshot. */
export function documentToChange(document: Document): Change {
  const endpoints = document._sluice?.endpoints;
  const put = lists((collection) => document[collection] ?? []);
  return endpoints === undefined ? { put, remove: {} } : { put, remove: {}, endpoints };
}

/** The least that must change to get from one snapshot to the other, in the order of ids. */
export function changeBetween(previous: Snapshot, next: Snapshot): Change {
  const put = lists((collection) => putsOf<object>(previous[collection], next[collection]));
  const remove = lists((collection) => gonesOf(previous[collection], next[collection]));
  const endpoints = Object.fromEntries<readonly Endpoint[] | null>([
    // The addresses of a service that goes, go with it.
    ...gonesOf(previous.endpoints, next.endpoints)
      .filter((id) => next.services.has(id))
      .map((id): [string, null] => [id, null]),
    ...[...next.endpoints].filter(([id, list]) => differs(previous.endpoints.get(id), list)),
  ]);
  return Object.keys(endpoints).length === 0 ? { put, remove } : { put, remove, endpoints };
}

/** The flat document of a snapshot, for pushing it whole. Credentials carry the hashes of their keys. */
export function snapshotToDocument(snapshot: Snapshot): Document {
  const flat = lists((collection) => [...snapshot[collection].values()]);
  const endpoints = Object.fromEntries(snapshot.endpoints);
  const extras = Object.keys(endpoints).length === 0 ? {} : { _sluice: { endpoints } };
  return { _format_version: "3.0", ...flat, ...extras };
}

/** Collections with nothing to say are left out. */
function lists<Item>(
  itemsOf: (collection: Collection) => readonly Item[],
): Partial<Record<Collection, readonly Item[]>> {
  return Object.fromEntries(
    collections.map((collection) => [collection, itemsOf(collection)] as const).filter(([, items]) => items.length > 0),
  );
}

function putsOf<Value extends object>(before: ReadonlyMap<string, Value>, after: ReadonlyMap<string, Value>) {
  return before === after
    ? []
    : [...after].filter(([id, value]) => differs(before.get(id), value)).map(([, value]) => value);
}

const gonesOf = (before: ReadonlyMap<string, object>, after: ReadonlyMap<string, object>): readonly string[] =>
  before === after ? [] : [...before.keys()].filter((id) => !after.has(id));

const differs = (before: object | undefined, after: object): boolean =>
  before !== after && (before === undefined || digestOf(before) !== digestOf(after));
