/** The text of a large file that a node serves, and how an edit or a new text changes the served snapshot. */
import { isDeepStrictEqual } from "node:util";
import {
  adoptEdit,
  type Change,
  type ChangedItems,
  type Collection,
  collections,
  type EndpointChanges,
  type EndpointSection,
  endpointSections,
  entityNameOf,
  hashOfId,
  type LoadedItems,
  perEndpointSection,
  type Snapshot,
} from "@sluice/model/serving";
import { type EditedItems, type EntityReference, wantedKey } from "./find-edit.ts";
import type { EditReading, EditRequest, FileReading } from "./read-file.ts";

export interface ServedText {
  readonly text: string;
  readonly snapshot: Snapshot;
}

/** Reads some items of a text without its other items; resolves to null when the items to read have errors. */
export type ReadItems = (request: EditRequest) => Promise<EditReading | null>;

/**
 * The text and its snapshot after an edit. Removed items are read too, because it is not stored which entities an item
 * contains. Null when an item has errors or conflicts with other items: reading the whole text reports why.
 */
export async function applyFileEdit(
  served: ServedText,
  { text, removed, added }: EditedItems & { readonly text: string },
  read: ReadItems,
): Promise<ServedText | null> {
  const { snapshot } = served;
  const gone = await entitiesOf(removed, read, (reference) => findEntity(snapshot, reference));
  if (gone === null) return null;
  const isGone = (collection: Collection, id: string) => gone[collection].some((one) => one.id === id);
  const put = await entitiesOf(added, read, (reference) => {
    const id = findEntity(snapshot, reference);
    return id !== null && isGone(reference.collection, id) ? null : id;
  });
  if (put === null) return null;
  const remove = removals(snapshot, gone, put);
  const next = remove && adoptEdit(snapshot, { put, remove });
  return next && { text, snapshot: next };
}

/**
 * The entities of items; null when an item has errors. If items refer to entities of other items, all are read a second
 * time, with the ids of the referenced entities.
 */
async function entitiesOf(
  items: ChangedItems,
  read: ReadItems,
  find: (reference: EntityReference) => string | null,
): Promise<LoadedItems | null> {
  let reading = await read({ items, known: {} });
  if (reading && "wanted" in reading) {
    const known = reading.wanted.map((reference) => [wantedKey(reference), find(reference)] as const);
    reading = await read({ items, known: Object.fromEntries(known) });
  }
  return reading && "entities" in reading ? reading.entities : null;
}

function findEntity(snapshot: Snapshot, { collection, idOrName }: EntityReference): string | null {
  if (snapshot[collection].has(idOrName)) return idOrName;
  const entities: ReadonlyMap<string, { readonly id: string }> = snapshot[collection];
  return entities.values().find((entity) => entityNameOf(collection, entity) === idOrName)?.id ?? null;
}

/** The ids to remove; null when the edit also affects entities outside the edited items. */
function removals(snapshot: Snapshot, gone: LoadedItems, put: LoadedItems): Record<Collection, string[]> | null {
  const remove = {} as Record<Collection, string[]>;
  for (const collection of collections) {
    const served: ReadonlyMap<string, unknown> = snapshot[collection];
    const [before, after] = [gone, put].map((each) => new Set(each[collection].map(({ id }) => id)));
    if (!before || !after?.difference(before).isDisjointFrom(served) || !before.isSubsetOf(served)) return null;
    remove[collection] = [...before.difference(after)];
  }
  // Endpoints are in the head of the document, so an entity with endpoints cannot be removed by an edit of items.
  const hasEndpoints = Object.values(
    perEndpointSection((section) => remove[endpointSections[section]].some((id) => snapshot[section].has(id))),
  ).includes(true);
  return hasEndpoints ? null : remove;
}

/**
 * The change from the served snapshot to the content that the reader process has read. Unchanged entities are left out,
 * so that the node keeps their compiled form.
 */
export function changeFromReading(previous: Snapshot, { put, addresses, places }: FileReading): Change {
  const isInReading = (id: string): boolean => places?.has(hashOfId(id)) ?? true;
  const gone = (held: ReadonlyMap<string, unknown>, stays: ReadonlySet<string>): readonly string[] =>
    [...held.keys()].filter((id) => isInReading(id) && !stays.has(id));
  const entities = collections.map((name) => {
    const given = (put[name] ?? []) as readonly { readonly id: string }[];
    const changed = given.filter((entity) => !isDeepStrictEqual(previous[name].get(entity.id), entity));
    return { name, changed, gone: gone(previous[name], new Set(given.map(({ id }) => id))) };
  });
  const sections: Record<EndpointSection, object> = perEndpointSection((section) => {
    const { [section]: given } = addresses;
    const silent = gone(previous[section], new Set(Object.keys(given)));
    return { ...given, ...Object.fromEntries(silent.map((id) => [id, null])) };
  });
  return {
    put: Object.fromEntries(entities.map(({ name, changed }) => [name, changed])),
    remove: Object.fromEntries(entities.map((one) => [one.name, one.gone])),
    ...(sections as EndpointChanges),
  };
}
