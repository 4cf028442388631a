/** GET of a list and of an entity. */
import type { Entity } from "@sluice/model";
import { notFound } from "../../http/errors.ts";
import { pageOf, tagFilterOf, writeOffset } from "../../http/paging.ts";
import { etagHeader, isNotModified } from "../../http/preconditions.ts";
import type { AdminResponse, EntityReader, EntityRequest } from "../../requests.ts";
import { resolveParent, resolveUrl } from "../resolve-url.ts";
import type { EntityOperations } from "./entity-operations.ts";

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
  const data = await presentAll(operations, entities, store);
  const last: Entity | undefined = entities.at(-1);
  if (!more || !last) return { status: 200, body: { data, next: null } };
  const offset = writeOffset(last.id);
  const asked = parent ? [] : ["tags", "size"].flatMap((name) => argument(name, query.get(name)));
  const next = [`offset=${encodeURIComponent(offset)}`, ...asked].join("&");
  return { status: 200, body: { data, next: `${path}?${next}`, offset } };
}

const argument = (name: string, value: string | null): readonly string[] =>
  value === null ? [] : [`${name}=${encodeURIComponent(value)}`];

export const presentAll = (
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
