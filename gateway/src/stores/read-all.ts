/** Reads a whole store, page by page. */
import { type Collection, collections, type Entities } from "@sluice/model";
import type { Store } from "./store.ts";

/** Entities with defaults, as `checkEntity` returns them. */
export type EntityLists = { readonly [Name in Collection]?: readonly Entities[Name][] };

const PAGE = 1000;

export async function readCollection<Name extends Collection>(
  store: Pick<Store, "list">,
  collection: Name,
): Promise<readonly Entities[Name][]> {
  const read: Entities[Name][] = [];
  for (let after: string | undefined; ; ) {
    const { entities, more } = await store.list(collection, { size: PAGE, ...(after !== undefined && { after }) });
    read.push(...entities);
    after = entities.at(-1)?.id;
    if (!more || after === undefined) return read;
  }
}

/** Not a consistent state: another writer may write between two pages. */
export async function readAll(store: Pick<Store, "list">): Promise<EntityLists> {
  const lists: [Collection, readonly unknown[]][] = [];
  for (const collection of collections) lists.push([collection, await readCollection(store, collection)]);
  return Object.fromEntries(lists) as EntityLists;
}
