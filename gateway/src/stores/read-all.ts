/** Reads a whole store, page by page. */
import { type Collection, checkEntity, collections, type Document, type Entities, type Entity } from "@sluice/model";
import type { ListOptions, Store } from "./store.ts";

/** Entities with defaults, as `checkEntity` returns them. */
export type EntityLists = { readonly [Name in Collection]?: readonly Entities[Name][] };

const PAGE = 1000;

/** The pages of a collection. They may show different states, because other writers may write between two pages. */
export async function* readPages<Name extends Collection>(
  store: Pick<Store, "list">,
  collection: Name,
  options: Omit<ListOptions, "size"> = {},
): AsyncGenerator<readonly Entities[Name][]> {
  for (let from = options; ; ) {
    const { entities, more } = await store.list(collection, { ...from, size: PAGE });
    yield entities;
    const last = entities.at(-1);
    if (!more || last === undefined) return;
    from = { ...options, after: last.id };
  }
}

export async function readCollection<Name extends Collection>(
  store: Pick<Store, "list">,
  collection: Name,
  options: Omit<ListOptions, "size"> = {},
): Promise<readonly Entities[Name][]> {
  return (await Array.fromAsync(readPages(store, collection, options))).flat();
}

export async function readAll(store: Pick<Store, "list">): Promise<EntityLists> {
  const lists: [Collection, readonly unknown[]][] = [];
  for (const collection of collections) lists.push([collection, await readCollection(store, collection)]);
  return Object.fromEntries(lists) as EntityLists;
}

/**
 * The entities of a valid document, with defaults. Members under `_sluice` are left out: stores cannot hold them.
 * Timestamps that the document leaves out are 0.
 */
export function entitiesOf(document: Document): EntityLists {
  const lists = collections.map((collection) => [
    collection,
    (document[collection] ?? []).map((item): Entity => {
      const { _sluice: _, ...entity } = Object(checkEntity(collection, item, { database: true }).value);
      return entity;
    }),
  ]);
  return Object.fromEntries(lists) as EntityLists;
}
