/** Computes differences between revisions, and the writes that undo them. Pure. */
import { type Collection, canonicalJson, checkEntity, collections, type Entity, type Violation } from "@sluice/model";
import { writesBetween } from "../difference.ts";
import type { EntityLists } from "../read-all.ts";
import type { Effect, Write } from "../store.ts";
import type { EntityChange } from "./revisions.ts";

/** At most one change for each entity; entities that are as they were are left out. */
export function netChanges(changes: readonly EntityChange[]): readonly EntityChange[] {
  const net = new Map<string, EntityChange>();
  for (const change of changes) {
    const key = keyOf(change);
    net.set(key, { ...change, before: (net.get(key) ?? change).before });
  }
  return [...net.values()].filter(({ before, after }) => canonicalJson(before) !== canonicalJson(after));
}

/** The changes of writes with these effects. */
export const changesOf = (effects: readonly Effect[]): readonly EntityChange[] =>
  netChanges(
    effects.flatMap(({ collection, before, after, along }) => [
      ...along.map(({ collection, entity }) => ({ collection, id: entity.id, before: entity, after: null })),
      { collection, id: (after ?? before)?.id ?? "", before, after },
    ]),
  );

export interface UndoOptions {
  /** Whether the store is a database (`database` of the model's CheckOptions). */
  readonly database: boolean;
  /** Unix time in seconds, for the member `updated_at` of changed entities. */
  readonly now: number;
}

export type UndoWrites =
  | { readonly writes: readonly Write[]; readonly violations?: undefined }
  /** An entity of the past is no longer valid, for example because its plugin was removed. */
  | {
      readonly writes?: undefined;
      readonly violations: readonly Violation[];
      readonly collection: Collection;
      readonly id: string;
    };

/**
 * The writes that undo changes, for a store with the entities `current`. They are conditional on the current version of
 * each entity, and their order suits references and names (`writesBetween`). Expired keys are not created again.
 */
export function writesToUndo(
  current: EntityLists,
  changes: readonly EntityChange[],
  { database, now }: UndoOptions,
): UndoWrites {
  const net = netChanges(changes);
  const undone = Map.groupBy(net, ({ collection }) => collection);
  const target: Partial<Record<Collection, readonly Entity[]>> = {};
  for (const collection of collections) {
    const entities = new Map<string, Entity>(current[collection]?.map((entity) => [entity.id, entity]));
    for (const { id, before, obstacle } of undone.get(collection) ?? []) {
      const isCreated = !entities.delete(id);
      if (before === null || isExpired(before, now)) continue;
      if (isCreated && obstacle) return { violations: [{ path: ["@entity"], message: obstacle }], collection, id };
      const { value, violations } = checkEntity(collection, before, { database });
      if (violations) return { violations, collection, id };
      // As for any other write, the time of the change is now.
      entities.set(id, "updated_at" in value ? { ...value, updated_at: 0 } : value);
    }
    target[collection] = [...entities.values()];
  }
  const writes = writesBetween(current, target as EntityLists, { now });
  const faulty = new Set(net.filter(({ isFaulty }) => isFaulty).map(keyOf));
  return { writes: writes.flatMap((write) => [...removalsBefore(write, faulty), write]) };
}

/**
 * An invalid entity keeps its id and name, so it is removed before an entity with this id is created.
 *
 * @param faulty The keys of the invalid entities.
 */
function removalsBefore(write: Write, faulty: ReadonlySet<string>): readonly Write[] {
  if (write.op !== "create") return [];
  const { collection, entity } = write;
  return faulty.has(keyOf({ collection, id: entity.id })) ? [{ op: "remove", collection, by: { id: entity.id } }] : [];
}

const keyOf = ({ collection, id }: Pick<EntityChange, "collection" | "id">): string => `${collection} ${id}`;

function isExpired(entity: Entity, now: number): boolean {
  const { created_at, ttl }: { readonly created_at: number; readonly ttl?: number | null } = entity;
  return typeof ttl === "number" && created_at + ttl < now;
}
