/** Prepares the writes of POST, PUT, PATCH and DELETE. */
import { randomUUID } from "node:crypto";
import { type Collection, checkWithHidden, type Entity, entities, mergeEntity, references } from "@sluice/model";
import { etagOf } from "../../stores/etag.ts";
import type { Lookup, Write } from "../../stores/store.ts";
import type { RawMembers } from "../http/decode-body.ts";
import { invalidEntity, methodNotAllowed, notFound, unresolvedReferences } from "../http/errors.ts";
import { etagHeader, requirePreconditions } from "../http/preconditions.ts";
import type { AdminResponse, EntityOperations, EntityRequest, PreparedWrite } from "../requests.ts";
import { lookupForSegment, resolveParent, resolveUrl, type UrlTarget } from "./resolve-url.ts";

/** POST to a list: creates an entity. */
export async function createEntity(operations: EntityOperations, call: EntityRequest): Promise<PreparedWrite> {
  const { collection } = call.endpoint;
  const parent = await resolveParent(call);
  const raw = await operations.prepare(call.body(), { before: null, isPartial: false });
  const owned = { ...raw, ...(parent && { [parent.member]: { id: parent.id } }), ...updatedAtNow(collection) };
  const given = await resolveReferences(owned, call);
  const entity = await withFreeId(call, given, await checkedEntity(call, given, null));
  return {
    writes: [{ op: "create", collection, entity }],
    respond: ([effect]) => presentWritten(operations, call, { entity: effect?.after ?? entity, status: 201 }),
    attempt: { verb: "create", collection, by: undefined },
    isRetryable: async (fault) => fault.kind === "primary-key" && (given.id ?? null) === null,
  };
}

/**
 * PUT: creates the entity or replaces it; members that the body leaves out get their defaults. As in Kong, an entity of
 * another parent is moved to the parent in the URL.
 */
export async function upsertEntity(operations: EntityOperations, call: EntityRequest): Promise<PreparedWrite> {
  const { store, preconditions: conditions } = call;
  const { collection } = call.endpoint;
  const place = await resolveUrl(call);
  const before = place.entity;
  await requirePreconditions(conditions, () => before && tagOf(operations, call, before));
  const raw = await operations.prepare(call.body(), { before, isPartial: false });
  const says = { ...raw, ...place.members, ...updatedAtNow(collection) };
  const named = before ? { ...says, id: before.id, created_at: raw.created_at ?? before.created_at } : says;
  const given = await resolveReferences(named, call);
  const checked = await checkedEntity(call, given, before);
  const entity = before ? checked : await withFreeId(call, given, checked);
  const write: Write = before
    ? { op: "replace", collection, entity, etag: etagOf(before) }
    : { op: "create", collection, entity };
  return {
    writes: [write, ...association(place, entity)],
    respond: ([effect]) => presentWritten(operations, call, { entity: effect?.after ?? entity, status: 200 }),
    attempt: { verb: "create or update", collection, by: memberOf(place.by) },
    async isRetryable({ kind }) {
      if (kind === "changed") return true;
      if (before || (kind !== "primary-key" && kind !== "unique")) return false;
      // Another client created the entity in the meantime, or the id derived from the name is in use.
      return (
        (await store.find(collection, place.by)) !== null || (kind === "primary-key" && (given.id ?? null) === null)
      );
    },
  };
}

/** The write that makes the holder of the reference refer to the entity; empty if the URL has no holder. */
function association({ holder }: UrlTarget, { id }: Entity): readonly Write[] {
  if (!holder) return [];
  const { collection, member, entity } = holder;
  const changed = { ...entity, [member]: { id }, ...updatedAtNow(collection) } as Entity;
  return [{ op: "replace", collection, entity: changed, etag: etagOf(entity) }];
}

async function tagOf(operations: EntityOperations, { store }: EntityRequest, entity: Entity): Promise<string> {
  return operations.tag(entity, await operations.present(entity, store));
}

/** The response with the written entity. */
async function presentWritten(
  operations: EntityOperations,
  { store }: EntityRequest,
  { entity, status }: { readonly entity: Entity; readonly status: number },
): Promise<AdminResponse> {
  const body = await operations.present(entity, store);
  return { status, headers: etagHeader(operations.tag(entity, body)), body };
}

const memberOf = (by: Lookup): string | undefined => ("id" in by ? undefined : by.member);

/** PATCH: members that the body leaves out stay as they are; null resets a member. */
export async function changeEntity(operations: EntityOperations, call: EntityRequest): Promise<PreparedWrite> {
  const { collection } = call.endpoint;
  const place = await resolveUrl(call);
  const before = place.entity;
  if (!before || place.hasOtherParent) throw notFound();
  await requirePreconditions(call.preconditions, () => tagOf(operations, call, before));
  const raw = await operations.prepare(call.body({ before }), { before, isPartial: true });
  const named = await resolveReferences(raw, call);
  const merged = { ...mergeEntity(collection, before, named), id: before.id, ...updatedAtNow(collection) };
  const entity = await checkedEntity(call, merged, before);
  return {
    writes: [{ op: "replace", collection, entity, etag: etagOf(before) }],
    respond: ([effect]) => presentWritten(operations, call, { entity: effect?.after ?? entity, status: 200 }),
    attempt: { verb: "update", collection, by: memberOf(place.by) },
    isRetryable: async ({ kind }) => kind === "changed",
  };
}

/**
 * DELETE. If the entity does not exist, the status is 204 at the top level and 404 below a parent, as in Kong. An
 * entity cannot be removed at the URL of a reference to it.
 */
export async function removeEntity(operations: EntityOperations, call: EntityRequest): Promise<PreparedWrite> {
  const { endpoint, preconditions: conditions, store, params } = call;
  const { collection } = endpoint;
  const isConditional = conditions.match !== undefined || conditions.noneMatch !== undefined;
  // No lookup unless it is necessary: lookups do not find invalid entities, which can be removed nevertheless.
  if (endpoint.kind === "one" && !endpoint.parent && !isConditional) {
    return removal(collection, await lookupForSegment(store, collection, params.entity ?? ""));
  }
  const { entity, hasOtherParent: foreign, by } = await resolveUrl(call);
  if (endpoint.kind === "foreign") throw entity ? methodNotAllowed() : notFound();
  if (endpoint.parent && (!entity || foreign)) throw notFound();
  await requirePreconditions(conditions, () => entity && tagOf(operations, call, entity));
  if (!entity) return removal(collection, by);
  const write = { op: "remove", collection, by: { id: entity.id } } as const;
  return { ...removal(collection, by), writes: [isConditional ? { ...write, etag: etagOf(entity) } : write] };
}

const removal = (collection: Collection, by: Lookup): PreparedWrite => ({
  writes: [{ op: "remove", collection, by }],
  respond: async () => ({ status: 204 }),
  attempt: { verb: "remove", collection, by: memberOf(by) },
  isRetryable: async ({ kind }) => kind === "changed",
});

/** The time in seconds; as in Kong, a whole number except for targets, whose times have milliseconds. */
export const timestampFor = (collection: Collection): number =>
  collection === "targets" ? Date.now() / 1000 : Math.floor(Date.now() / 1000);

/** The member `updated_at` with the present time; no member for credentials, which do not have `updated_at`. */
export const updatedAtNow = (collection: Collection): { readonly updated_at?: number } =>
  "updated_at" in (entities[collection].schema.properties ?? {}) ? { updated_at: timestampFor(collection) } : {};

/**
 * @param before The entity before the change, whose hidden members stay set; null: the entity is created.
 * @throws HttpError 400 with all violations.
 */
async function checkedEntity(call: EntityRequest, raw: RawMembers, before: Entity | null): Promise<Entity> {
  const { collection } = call.endpoint;
  const { database = false } = call.store;
  const hidden = (before && (await call.store.hiddenPaths?.(collection, before.id))) ?? [];
  const options = { now: timestampFor(collection), database, hidden };
  const { value, violations = [] } = checkWithHidden(collection, raw, options);
  const faults = [...call.extraViolations, ...violations];
  if (!value || faults.length > 0) throw invalidEntity(faults);
  return value;
}

/**
 * Gives the entity an unused id, unless the request has one. The derived id may be in use: by an entity that had the
 * same name before it was renamed or, for an entity without a name, by an entity with the same members.
 */
async function withFreeId(
  { store, endpoint, takenIds: taken }: EntityRequest,
  given: RawMembers,
  entity: Entity,
): Promise<Entity> {
  if ((given.id ?? null) !== null) return entity;
  const { id } = entity;
  const isTaken = taken.has(id) || (await store.find(endpoint.collection, { id })) !== null;
  return isTaken ? { ...entity, id: randomUUID() } : entity;
}

/**
 * Replaces references by a unique name with references by id. @throws HttpError 400 with all names that do not exist.
 */
async function resolveReferences(raw: RawMembers, { store, endpoint }: EntityRequest): Promise<RawMembers> {
  const resolved: Record<string, { readonly id: string }> = {};
  const unresolved = [];
  for (const { member, to } of references[endpoint.collection]) {
    const named = nameIn(Object.hasOwn(raw, member) ? raw[member] : undefined, entities[to].unique);
    if (!named) continue;
    const found = await store.find(to, { member: named.by, value: named.value });
    if (found) resolved[member] = { id: found.id };
    else unresolved.push({ member, to, ...named });
  }
  if (unresolved.length > 0) throw unresolvedReferences(unresolved);
  return { ...raw, ...resolved };
}

/** Longer than any name: longer text is neither looked up nor shown in the error. */
const MAX_NAME = 512;

/**
 * The unique name in a reference. Undefined if the reference has an id, which takes precedence, or no usable name. The
 * check of the entity reports a reference without a usable name.
 */
function nameIn(reference: unknown, unique: readonly string[]): { by: string; value: string } | undefined {
  if (typeof reference !== "object" || reference === null || Array.isArray(reference)) return undefined;
  const members = reference as RawMembers;
  if (Object.hasOwn(members, "id") && members.id !== null) return undefined;
  const by = unique.find((member) => Object.hasOwn(members, member) && typeof members[member] === "string");
  const value = by === undefined ? "" : String(members[by]);
  return by === undefined || value.length > MAX_NAME ? undefined : { by, value };
}
