/** Derives the operations of a collection: one handler per operation, for all collections. */
import type { Entity } from "@sluice/model";
import { etagOf } from "../../stores/etag.ts";
import { notFound } from "../http/errors.ts";
import { pageOf, tagFilterOf, writeOffset } from "../http/paging.ts";
import { etagHeader, isNotModified } from "../http/preconditions.ts";
import type { AdminResponse, EntityOperations, EntityReader, EntityRequest } from "../requests.ts";
import { resolveParent, resolveUrl } from "./resolve-url.ts";
import { changeEntity, createEntity, removeEntity, upsertEntity } from "./write-operations.ts";

/** The operations of a collection; `special` replaces some of them. */
export function deriveOperations(
  special: (derived: EntityOperations) => Partial<EntityOperations> = () => ({}),
): EntityOperations {
  const derived: EntityOperations = {
    list: (call) => listEntities(operations, call),
    show: (call) => showEntity(operations, call),
    create: (call) => createEntity(operations, call),
    upsert: (call) => upsertEntity(operations, call),
    change: (call) => changeEntity(operations, call),
    remove: (call) => removeEntity(operations, call),
    present: async (entity) => entity,
    tag: (entity) => etagOf(entity),
    prepare: (raw) => raw,
  };
  const operations: EntityOperations = { ...derived, ...special(derived) };
  return operations;
}

/** As in Kong, lists below a parent are not filtered by tags, and their next page has the default size. */
export async function listEntities(operations: EntityOperations, call: EntityRequest): Promise<AdminResponse> {
  const { store, endpoint, path, query } = call;
  const parent = await resolveParent(call);
  const page = pageOf(query);
  const tags = parent ? undefined : tagFilterOf(query);
  const { entities, more } = await store.list(endpoint.collection, {
    ...page,
    ...(parent && { where: parent }),
    ...(tags && { tags }),
  });
  const data = await presentEntities(operations, entities, store);
  const last: Entity | undefined = entities.at(-1);
  if (!more || !last) return { status: 200, body: { data, next: null } };
  const offset = writeOffset(last.id);
  const asked = parent ? [] : ["tags", "size"].flatMap((name) => argument(name, query.get(name)));
  const next = [`offset=${encodeURIComponent(offset)}`, ...asked].join("&");
  return { status: 200, body: { data, next: `${path}?${next}`, offset } };
}

const argument = (name: string, value: string | null): readonly string[] =>
  value === null ? [] : [`${name}=${encodeURIComponent(value)}`];

export const presentEntities = (
  operations: EntityOperations,
  entities: readonly Entity[],
  store: EntityReader,
): Promise<readonly object[]> => Promise.all(entities.map((entity) => operations.present(entity, store)));

export async function showEntity(operations: EntityOperations, call: EntityRequest): Promise<AdminResponse> {
  const { entity, hasOtherParent: foreign } = await resolveUrl(call);
  if (!entity || foreign) throw notFound();
  const body = await operations.present(entity, call.store);
  const tag = operations.tag(entity, body);
  const headers = etagHeader(tag);
  return isNotModified(call.preconditions, tag) ? { status: 304, headers } : { status: 200, headers, body };
}
