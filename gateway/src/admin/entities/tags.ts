/** GET /tags: all tags with their entities. GET /tags/:tag: the entities with one tag. */
import { type Collection, checkEntity, collections, type Entity } from "@sluice/model";
import { readPages } from "../../stores/read-all.ts";
import { invalidOffset, invalidUnique } from "../http/errors.ts";
import { decodeOffset, encodeOffset, rangeOf } from "../http/paging.ts";
import type { AdminRequest, AdminResponse, EntityReader } from "../requests.ts";
import type { AdminRoute } from "./routes.ts";

export const tagRoutes = (store: EntityReader): readonly AdminRoute[] => [
  { url: "/tags", handlers: { GET: (received) => answer(store, received) } },
  { url: "/tags/:tag", handlers: { GET: (received) => answer(store, received, received.params.tag) } },
];

interface Tagged {
  readonly tag: string;
  readonly entity_name: Collection;
  readonly entity_id: string;
}

/** The end of a page, which may be between two tags of one entity. */
interface TagPosition {
  readonly collection: Collection;
  readonly id: string;
  readonly tag: string;
}

async function answer(store: EntityReader, { path, query }: AdminRequest, tag?: string): Promise<AdminResponse> {
  if (tag !== undefined) demandTag(tag);
  const { size, offset } = rangeOf(query);
  const from = offset === null ? undefined : readPlace(offset);
  const data: Tagged[] = [];
  for await (const tagged of allAfter(store, from, tag)) {
    if (data.push(tagged) > size) break;
  }
  if (data.length <= size) return { status: 200, body: { data, next: null } };
  data.pop();
  const { entity_name: collection, entity_id: id, tag: last } = data.at(-1) as Tagged;
  const next = encodeOffset({ collection, id, tag: last });
  const asked = query.has("size") ? `&size=${size}` : "";
  return { status: 200, body: { data, next: `${path}?offset=${encodeURIComponent(next)}${asked}`, offset: next } };
}

function demandTag(tag: string): void {
  const fault = checkEntity("consumers", { username: "x", tags: [tag] }).violations?.[0];
  if (fault) throw invalidUnique("tag", fault.message);
}

/** The tags after `from`, ordered by collection, id and tag: writes between two pages do not disturb this order. */
async function* allAfter(
  store: EntityReader,
  from: TagPosition | undefined,
  tag: string | undefined,
): AsyncGenerator<Tagged> {
  const start = from ? collections.indexOf(from.collection) : 0;
  for (const collection of collections.slice(start)) {
    const within = from?.collection === collection ? from : undefined;
    for await (const entity of entitiesFrom(store, collection, { from: within?.id, tag })) {
      for (const one of [...(entity.tags ?? [])].sort()) {
        if (tag !== undefined && one !== tag) continue;
        if (within?.id === entity.id && one <= within.tag) continue;
        yield { tag: one, entity_name: collection, entity_id: entity.id };
      }
    }
  }
}

/** The entities from the id `from` on, including that entity: the previous page may not have shown all of its tags. */
async function* entitiesFrom(
  store: EntityReader,
  collection: Collection,
  { from, tag }: { readonly from: string | undefined; readonly tag: string | undefined },
): AsyncGenerator<Entity> {
  const first: Entity | null = from === undefined ? null : await store.find(collection, { id: from });
  if (first) yield first;
  const tags = tag === undefined ? {} : ({ tags: { tags: [tag], match: "every" } } as const);
  for await (const page of readPages(store, collection, { ...tags, ...(from !== undefined && { after: from }) })) {
    yield* page;
  }
}

function readPlace(offset: string): TagPosition {
  const { collection, id, tag } = decodeOffset(offset);
  const known = collections.find((name) => name === collection);
  if (known && typeof id === "string" && /^[0-9a-f-]{36}$/.test(id) && typeof tag === "string") {
    return { collection: known, id, tag };
  }
  throw invalidOffset(offset, "bad value");
}
