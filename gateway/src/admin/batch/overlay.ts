/** A read-only view of a store as it will be after some writes. */
import { type Collection, type Entities, type Entity, entities, referencedId, references } from "@sluice/model";
import { readCollection } from "../../stores/read-all.ts";
import type { EntityPage, ListOptions, Lookup, Write } from "../../stores/store.ts";
import type { EntityReader } from "../requests.ts";

/** Supports only the reads of handlers, and checks no writes: the store checks them when they are carried out. */
export function createOverlay(base: EntityReader) {
  /** Entities by id; null: the entity was removed. */
  const written = new Map<Collection, Map<string, Entity | null>>();
  const of = (collection: Collection): Map<string, Entity | null> => {
    const known = written.get(collection) ?? new Map<string, Entity | null>();
    written.set(collection, known);
    return known;
  };

  /** The id of the entity that was last written under each name. The entity may have been renamed since then. */
  const names = new Map<string, string>();
  const put = (collection: Collection, entity: Entity): void => {
    of(collection).set(entity.id, entity);
    const members = entity as unknown as Readonly<Record<string, unknown>>;
    const { unique, key, within } = entities[collection];
    const parent = within === undefined ? {} : { within: { member: within, id: referencedId(entity, within) ?? "" } };
    for (const member of new Set([...unique, ...(key === null ? [] : [key])])) {
      const value = members[member];
      if (typeof value === "string") names.set(nameKey(collection, { member, value, ...parent }), entity.id);
    }
  };

  /** Whether the entity is removed, because an entity that it refers to is removed. */
  const isCascaded = (collection: Collection, entity: Entity): boolean =>
    references[collection].some(({ member, to }) => {
      const id = referencedId(entity, member);
      return id !== undefined && of(to).get(id) === null;
    });

  const asWritten = (collection: Collection, entity: Entity | null): Entity | null => {
    if (!entity) return null;
    const own = of(collection).get(entity.id);
    if (own !== undefined) return own;
    return isCascaded(collection, entity) ? null : entity;
  };

  async function find<Name extends Collection>(collection: Name, by: Lookup): Promise<Entities[Name] | null> {
    const id = "id" in by ? by.id : names.get(nameKey(collection, by));
    const own = id === undefined ? undefined : of(collection).get(id);
    const entity = own && matchesLookup(own, by) ? own : asWritten(collection, await base.find(collection, by));
    return (entity && matchesLookup(entity, by) ? entity : null) as Entities[Name] | null;
  }

  /**
   * Reads all pages of the base store: the children of one parent fill few pages, and only the removal of a CA
   * certificate lists whole collections.
   */
  async function list<Name extends Collection>(collection: Name, options: ListOptions): Promise<EntityPage<Name>> {
    const { size, after = "", where, tags } = options;
    const read: readonly Entity[] = await readCollection(base, collection, {
      ...(where && { where }),
      ...(tags && { tags }),
    });
    const own = [...of(collection).values()].filter((entity) => entity !== null);
    const left = [...new Map([...read, ...own].map((entity) => [entity.id, entity])).values()]
      .map((entity) => asWritten(collection, entity))
      .filter((entity) => entity !== null)
      .filter((entity) => entity.id > after && (!where || referencedId(entity, where.member) === where.id))
      .sort((a, b) => (a.id < b.id ? -1 : 1));
    return { entities: left.slice(0, size) as unknown as readonly Entities[Name][], more: left.length > size };
  }

  return {
    ...(base.database && { database: true }),
    ...(base.hiddenPaths && { hiddenPaths: base.hiddenPaths }),
    find,
    list,
    /** Later reads include these writes. */
    async apply(writes: readonly Write[]): Promise<void> {
      for (const write of writes) {
        if (write.op !== "remove") put(write.collection, write.entity);
        else {
          const found: Entity | null = await find(write.collection, write.by);
          if (found) of(write.collection).set(found.id, null);
        }
      }
    },
  };
}

type ByName = Exclude<Lookup, { readonly id: string }>;

const nameKey = (collection: Collection, { member, value, within }: ByName): string =>
  `${collection} ${within?.id ?? ""} ${member} ${value}`;

function matchesLookup(entity: Entity, by: Lookup): boolean {
  if ("id" in by) return entity.id === by.id;
  const { member, value, within } = by;
  const members = entity as unknown as Readonly<Record<string, unknown>>;
  return members[member] === value && (!within || referencedId(entity, within.member) === within.id);
}
