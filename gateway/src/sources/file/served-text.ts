/** The text of a large file that a node serves, and the changes from a new text or an edit. */
import { isDeepStrictEqual } from "node:util";
import {
  adoptEdit,
  type BucketHashes,
  byId,
  type Change,
  type Collection,
  collections,
  entityNameOf,
  type Snapshot,
} from "@sluice/model/serving";
import { type EntityId, EntityIds, idKey, type ListRange } from "./entity-ids.ts";
import type { EditReading, FileReading, MissingReferences } from "./read-file.ts";

export interface ServedText {
  readonly text: string;
  readonly snapshot: Snapshot;
  readonly hashes: BucketHashes;
  /** The entities of each item, in the order of the text. */
  readonly ids: EntityIds;
}

/**
 * Resolves the references of the edited items, by `idKey`, from ids or names to ids. Null: the entity does not exist,
 * or only in a removed item.
 */
export function findReferences(
  { snapshot, ids }: ServedText,
  removed: ListRange,
  { wanted }: MissingReferences,
): Record<string, string | null> {
  const left = new Set(ids.slice(removed).map(idKey));
  const find = (collection: Collection, idOrName: string): string | undefined => {
    if (snapshot[collection].has(idOrName)) return idOrName;
    const entities: ReadonlyMap<string, { readonly id: string }> = snapshot[collection];
    return entities.values().find((entity) => entityNameOf(collection, entity) === idOrName)?.id;
  };
  const known: Record<string, string | null> = {};
  for (const { collection, id: idOrName } of wanted) {
    const key = idKey({ collection, id: idOrName });
    if (Object.hasOwn(known, key)) continue;
    const id = find(collection, idOrName);
    known[key] = id === undefined || left.has(idKey({ collection, id })) ? null : id;
  }
  return known;
}

/** Null when the edit conflicts with the other items: reading the whole text reports why. */
export function adoptFileEdit(
  served: ServedText,
  { text, removed }: { readonly text: string; readonly removed: ListRange },
  { put, ids: packed }: EditReading,
): ServedText | null {
  const ids = new EntityIds(packed);
  const stays = new Set(ids.all().map(idKey));
  const held = served.ids.slice(removed);
  // An entity that is in two items would be put only once here.
  const known = new Set(held.map(idKey));
  const isElsewhere = ({ collection, id }: EntityId) => served.snapshot[collection].has(id);
  if (ids.all().some((one) => !known.has(idKey(one)) && isElsewhere(one))) return null;
  const gone = held.filter((one) => !stays.has(idKey(one)));
  // Its endpoints are in the head of the document.
  if (gone.some(({ collection, id }) => collection === "services" && served.snapshot.endpoints.has(id))) return null;
  const idsIn = (name: Collection): readonly string[] =>
    gone.filter(({ collection }) => collection === name).map(({ id }: EntityId) => id);
  const remove = Object.fromEntries(collections.map((name) => [name, idsIn(name)])) as Record<Collection, string[]>;
  const next = adoptEdit(served, { put, remove });
  return next && { text, ...next, ids: served.ids.replace(removed, ids) };
}

/**
 * The change from the served snapshot to what the reader process has read. Unchanged entities are left out, so that the
 * node keeps what it compiled for them.
 */
export function changeFromReading(previous: Snapshot, { put, endpoints, places }: FileReading): Change {
  const isTold = (id: string): boolean => places?.has(byId(id)) ?? true;
  const gone = (held: ReadonlyMap<string, unknown>, stays: ReadonlySet<string>): readonly string[] =>
    [...held.keys()].filter((id) => isTold(id) && !stays.has(id));
  const entities = collections.map((name) => {
    const told = (put[name] ?? []) as readonly { readonly id: string }[];
    const changed = told.filter((entity) => !isDeepStrictEqual(previous[name].get(entity.id), entity));
    return { name, changed, gone: gone(previous[name], new Set(told.map(({ id }) => id))) };
  });
  const silent = gone(previous.endpoints, new Set(Object.keys(endpoints)));
  return {
    put: Object.fromEntries(entities.map(({ name, changed }) => [name, changed])),
    remove: Object.fromEntries(entities.map((one) => [one.name, one.gone])),
    endpoints: { ...endpoints, ...Object.fromEntries(silent.map((id) => [id, null])) },
  };
}
