/** Resolves a URL to an entity or, if there is none, to the members that the URL defines for a new entity. */
import { randomUUID } from "node:crypto";
import { type Collection, checkEntity, type Entity, entities, referencedId, type Sni } from "@sluice/model";
import type { Lookup, ReferenceFilter } from "../../stores/store.ts";
import { unstorableReason } from "../../stores/unstorable-text.ts";
import type { RawMembers } from "../http/decode-body.ts";
import { invalidPrimaryKey, invalidUnique, notFound, serverNameNotFound } from "../http/errors.ts";
import type { EntityReader, EntityRequest } from "../requests.ts";
import type { EntityEndpoint, ReferenceEndpoint } from "./endpoints.ts";

export interface UrlTarget {
  readonly entity: Entity | null;
  /** Members that the URL defines: id or name, and the parent. */
  readonly members: RawMembers;
  readonly by: Lookup;
  /** Whether the entity belongs to a parent other than the parent in the URL. */
  readonly hasOtherParent: boolean;
  /**
   * For the URL of an unset reference, such as `/routes/x/service`: the entity (the route) that will refer to the
   * entity that the request creates.
   */
  readonly holder?: { readonly collection: Collection; readonly member: string; readonly entity: Entity };
}

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

export const isId = (segment: string): boolean => UUID.test(segment);

/**
 * The lookup of the entity that a segment of a URL names: by id if the segment is a UUID, otherwise by name. The name
 * of a certificate is one of its server names; the lookup then has the id of the certificate.
 *
 * @throws HttpError 400 for a name that no entity of the collection can have; 404 for an unknown server name.
 */
export async function lookupForSegment(store: EntityReader, collection: Collection, segment: string): Promise<Lookup> {
  if (isId(segment)) return { id: segment.toLowerCase() };
  if (collection === "certificates") {
    const sni = await findServerName(store, segment);
    if (!sni?.certificate) throw serverNameNotFound();
    return { id: sni.certificate.id };
  }
  return nameLookup(collection, segment);
}

/** Null: no such server name is known. @throws HttpError 400 for an invalid server name. */
export const findServerName = (store: EntityReader, name: string): Promise<Sni | null> =>
  store.find("snis", nameLookup("snis", name));

function nameLookup(collection: Collection, name: string): Lookup {
  const { key, within } = entities[collection];
  if (key === null) throw invalidPrimaryKey("expected a valid UUID");
  const member = key;
  const unkeepable = unstorableReason(name);
  if (unkeepable !== undefined) throw invalidUnique(member, unkeepable);
  const faults = within === undefined ? (checkEntity(collection, { [member]: name }).violations ?? []) : [];
  const fault = faults.find(({ path }) => path.length === 1 && path[0] === member);
  if (fault) throw invalidUnique(member, fault.message);
  return { member, value: name };
}

/**
 * The parent in the URL, as a filter for the entities that refer to it; undefined: the endpoint has no parent.
 *
 * @throws HttpError 404 when the parent does not exist.
 */
export async function resolveParent(call: EntityRequest): Promise<ReferenceFilter | undefined> {
  const { store, endpoint, params } = call;
  if (endpoint.kind === "foreign" || !endpoint.parent) return undefined;
  const { collection, member } = endpoint.parent;
  const found: Entity | null = await store.find(
    collection,
    await lookupForSegment(store, collection, params.entity ?? ""),
  );
  if (!found) throw notFound();
  return { member, id: found.id };
}

/** @throws HttpError 404 when the parent or the holder does not exist. */
export const resolveUrl = (call: EntityRequest): Promise<UrlTarget> =>
  call.endpoint.kind === "foreign" ? resolveReferenceUrl(call, call.endpoint) : resolveEntityUrl(call, call.endpoint);

async function resolveEntityUrl(call: EntityRequest, { collection }: EntityEndpoint): Promise<UrlTarget> {
  const { store, params } = call;
  const parent = await resolveParent(call);
  const lookup = await lookupForSegment(store, collection, (parent ? params.child : params.entity) ?? "");
  const isNameWithin = entities[collection].within !== undefined && !("id" in lookup);
  // A name that is unique only within a parent finds nothing without the parent.
  if (isNameWithin && parent === undefined) throw notFound();
  const within = isNameWithin && parent ? { within: parent } : {};
  const by = { ...lookup, ...within };
  const entity: Entity | null = await store.find(collection, by);
  const says = {
    ...("id" in lookup ? { id: lookup.id } : { [lookup.member]: lookup.value }),
    ...(parent && { [parent.member]: { id: parent.id } }),
  };
  return {
    entity,
    members: says,
    by,
    hasOtherParent: entity !== null && parent !== undefined && referencedId(entity, parent.member) !== parent.id,
  };
}

async function resolveReferenceUrl(
  { store, params }: EntityRequest,
  { collection, holder }: ReferenceEndpoint,
): Promise<UrlTarget> {
  const found: Entity | null = await store.find(
    holder.collection,
    await lookupForSegment(store, holder.collection, params.entity ?? ""),
  );
  if (!found) throw notFound();
  const id = referencedId(found, holder.member);
  const target = { entity: null, members: {}, by: { id: id ?? randomUUID() }, hasOtherParent: false };
  if (id === undefined) return { ...target, holder: { ...holder, entity: found } };
  return { ...target, entity: await store.find(collection, { id }), members: { id } };
}
