/** Where a URL leads: to an entity, or to the place where there would be one. */
import { randomUUID } from "node:crypto";
import { type Collection, checkEntity, type Entity, entities, type Sni } from "@sluice/model";
import type { Lookup, Referring } from "../stores/store.ts";
import type { Raw } from "./body.ts";
import type { Call, Reader } from "./call.ts";
import type { Endpoint, Foreign } from "./endpoints.ts";
import { invalidUnique, notFound, serverNameNotFound } from "./errors.ts";
import { textFault } from "./text.ts";

export interface Place {
  readonly entity: Entity | null;
  /** What the URL says of the entity: its id or its name, and its parent. */
  readonly says: Raw;
  readonly by: Lookup;
  /** The entity is not the parent's that the URL names. */
  readonly foreign: boolean;
  /** Who shall refer to the entity once there is one. */
  readonly holder?: { readonly collection: Collection; readonly member: string; readonly entity: Entity };
}

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

export const isId = (segment: string): boolean => UUID.test(segment);

/**
 * A segment that is no UUID is looked up by the collection's naming member; a certificate by a server name.
 *
 * @throws HttpError 400 when nothing can have such a name; 404 when no certificate has such a server name.
 */
export async function lookupOf(store: Reader, collection: Collection, segment: string): Promise<Lookup> {
  if (isId(segment)) return { id: segment.toLowerCase() };
  if (collection === "certificates") {
    const sni = await serverName(store, segment);
    if (!sni?.certificate) throw serverNameNotFound();
    return { id: sni.certificate.id };
  }
  return nameLookup(collection, segment);
}

/** @throws HttpError 400 when it is none. */
export const serverName = (store: Reader, name: string): Promise<Sni | null> =>
  store.find("snis", nameLookup("snis", name));

/** @throws HttpError 400. */
function nameLookup(collection: Collection, name: string): Lookup {
  const { key, within } = entities[collection];
  const member = key ?? "id";
  const unkeepable = textFault(name);
  if (unkeepable !== undefined) throw invalidUnique(member, unkeepable);
  const faults = within === undefined ? (checkEntity(collection, { [member]: name }).violations ?? []) : [];
  const fault = faults.find(({ path }) => path.length === 1 && path[0] === member);
  if (fault) throw invalidUnique(member, fault.message);
  return { member, value: name };
}

/** The parent that the URL names, as the reference that the entities below it have. @throws HttpError 404. */
export async function parentOf(call: Call): Promise<Referring | undefined> {
  const { store, endpoint, params } = call;
  if (endpoint.kind === "foreign" || !endpoint.parent) return undefined;
  const { collection, member } = endpoint.parent;
  const found: Entity | null = await store.find(collection, await lookupOf(store, collection, params.entity ?? ""));
  if (!found) throw notFound();
  return { member, id: found.id };
}

/** @throws HttpError 404 when the parent or the holder is not there. */
export const placeOf = (call: Call): Promise<Place> =>
  call.endpoint.kind === "foreign" ? referredPlace(call, call.endpoint) : ownPlace(call, call.endpoint);

async function ownPlace(call: Call, { collection }: Exclude<Endpoint, Foreign>): Promise<Place> {
  const { store, params } = call;
  const parent = await parentOf(call);
  const lookup = await lookupOf(store, collection, (parent ? params.child : params.entity) ?? "");
  const within = parent && entities[collection].within === parent.member && !("id" in lookup) ? { within: parent } : {};
  const by = { ...lookup, ...within };
  const entity: Entity | null = await store.find(collection, by);
  const says = {
    ...("id" in lookup ? { id: lookup.id } : { [lookup.member]: lookup.value }),
    ...(parent && { [parent.member]: { id: parent.id } }),
  };
  return {
    entity,
    says,
    by,
    foreign: entity !== null && parent !== undefined && referred(entity, parent.member) !== parent.id,
  };
}

async function referredPlace({ store, params }: Call, { collection, holder }: Foreign): Promise<Place> {
  const found: Entity | null = await store.find(
    holder.collection,
    await lookupOf(store, holder.collection, params.entity ?? ""),
  );
  if (!found) throw notFound();
  const id = referred(found, holder.member);
  if (id === undefined) {
    return {
      entity: null,
      says: {},
      by: { id: randomUUID() },
      foreign: false,
      holder: { ...holder, entity: found },
    };
  }
  return { entity: await store.find(collection, { id }), says: { id }, by: { id }, foreign: false };
}

/** The id that a member refers to. */
export const referred = (entity: Entity, member: string): string | undefined =>
  (entity as unknown as Readonly<Record<string, { readonly id: string } | null>>)[member]?.id;
