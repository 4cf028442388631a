/** What can be done at an endpoint: one handler for each operation, for all collections (kong-contract 1.1). */
import { type Collection, checkEntity, type Entities, type Entity, entities } from "@sluice/model";
import type { Lookup, Outcome, Store } from "../stores/store.ts";
import type { Raw } from "./body.ts";
import type { Endpoint } from "./endpoints.ts";
import { invalidEntity, notFound, refusalOf } from "./errors.ts";
import { pageOf, type Query, writeOffset } from "./paging.ts";
import { resolveReferences } from "./references.ts";

/** A request to an endpoint. */
export interface Call {
  readonly store: Store;
  readonly endpoint: Endpoint;
  /** Decoded; `entity` and `child` as far as the endpoint has them. */
  readonly params: { readonly entity?: string; readonly child?: string };
  /** Without the query. */
  readonly path: string;
  readonly query: Query;
  /** @throws HttpError when it cannot be decoded. */
  readonly body: () => Raw;
}

export interface Answer {
  readonly status: number;
  readonly body?: unknown;
  /** Writes: what every node must have before the answer is sent. */
  readonly programmed?: Outcome["programmed"];
}

export interface Operations {
  list(call: Call): Promise<Answer>;
  create(call: Call): Promise<Answer>;
  show(call: Call): Promise<Answer>;
  remove(call: Call): Promise<Answer>;
  /** The entity as clients see it. */
  present(entity: Entity): unknown;
  /** What a body says before it is checked. */
  prepare(raw: Raw): Raw;
}

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/** A segment that is no UUID is looked up by the collection's naming member. */
const lookupOf = (collection: Collection, segment: string): Lookup =>
  UUID.test(segment) ? { id: segment.toLowerCase() } : { member: entities[collection].key ?? "id", value: segment };

/** The operations of a collection, with `special` in place of what it does differently. */
export function deriveOperations(special: (derived: Operations) => Partial<Operations> = () => ({})): Operations {
  const derived: Operations = {
    async list({ store, endpoint, params, path, query }) {
      const parent = await parentOf(store, endpoint, params.entity);
      const page = pageOf(query);
      const { entities: found, more } = await store.list(endpoint.collection, {
        ...page,
        ...(parent && { where: parent }),
      });
      const data = found.map((entity) => operations.present(entity));
      const last = found.at(-1);
      if (!more || !last) return { status: 200, body: { data, next: null } };
      const offset = writeOffset(last.id);
      const size = query.has("size") && !parent ? `&size=${page.size}` : "";
      return { status: 200, body: { data, next: `${path}?offset=${encodeURIComponent(offset)}${size}`, offset } };
    },

    async create({ store, endpoint, params, body }) {
      const { collection } = endpoint;
      const parent = await parentOf(store, endpoint, params.entity);
      const raw = operations.prepare(body());
      const named = await resolveReferences(raw, collection, store);
      const given = parent ? { ...named, [parent.member]: { id: parent.id } } : named;
      const entity = check(collection, given);
      const create = (made: Entity) => store.write([{ op: "create", collection, entity: made }]);
      const outcome = await create(entity);
      // An id that follows from a name may be taken by an entity that has been renamed, or by a twin without a name.
      const taken = outcome.fault?.kind === "primary-key" && (given.id ?? null) === null;
      const { effects, programmed, fault } = taken ? await create({ ...entity, id: crypto.randomUUID() }) : outcome;
      if (fault) throw refusalOf(fault);
      return { status: 201, body: operations.present(effects[0]?.after ?? entity), programmed };
    },

    async show(call) {
      const entity = await entityOf(call);
      if (!entity) throw notFound();
      return { status: 200, body: operations.present(entity) };
    },

    async remove(call) {
      const { store, endpoint, params, query } = call;
      const entity = endpoint.parent && (await entityOf(call));
      if (entity === null) throw notFound();
      const by = entity ? { id: entity.id } : lookupOf(endpoint.collection, params.entity ?? "");
      const write = { op: "remove", collection: endpoint.collection, by } as const;
      const { programmed, fault } = await store.write([write], { force: query.get("force") === "1" });
      if (fault) throw refusalOf(fault);
      return { status: 204, programmed };
    },

    present: (entity) => entity,
    prepare: (raw) => raw,
  };
  const operations: Operations = { ...derived, ...special(derived) };
  return operations;
}

function check<Name extends Collection>(collection: Name, raw: Raw): Entities[Name] {
  const checked = checkEntity(collection, raw, { now: Math.floor(Date.now() / 1000) });
  if (checked.violations) throw invalidEntity(checked.violations);
  return checked.value;
}

/** The parent that the URL names, as the reference that the entities below it have. */
async function parentOf(store: Store, { parent }: Endpoint, segment = "") {
  if (!parent) return undefined;
  const found = await store.find(parent.collection, lookupOf(parent.collection, segment));
  if (!found) throw notFound();
  return { member: parent.member, id: found.id };
}

/** The entity that the URL names; null also when it is not its parent's. */
async function entityOf({ store, endpoint, params }: Call): Promise<Entity | null> {
  const parent = await parentOf(store, endpoint, params.entity);
  const segment = (parent ? params.child : params.entity) ?? "";
  const entity: Entity | null = await store.find(endpoint.collection, lookupOf(endpoint.collection, segment));
  if (!entity || !parent) return entity;
  const owner = (entity as unknown as Readonly<Record<string, { readonly id: string } | null>>)[parent.member];
  return owner?.id === parent.id ? entity : null;
}
