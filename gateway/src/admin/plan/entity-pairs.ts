/** Pairs of an entity before and after. */
import { type Collection, collections, type Entity } from "@sluice/model";
import type { Effect } from "../../stores/store.ts";

/** Complete entities by collection. */
export type EntitySet = { readonly [Name in Collection]?: Iterable<Entity> };

export interface EntityPair {
  readonly collection: Collection;
  readonly before: Entity | null;
  readonly after: Entity | null;
  /** The id of the entity whose removal removed this one. */
  readonly with?: string;
}

/** One pair for each entity that differs. */
export function pairsBetween(before: EntitySet, after: EntitySet): readonly EntityPair[] {
  return collections.flatMap((collection) => {
    const [old, fresh] = [byId(before[collection]), byId(after[collection])];
    const gone = [...old.values()].filter(({ id }) => !fresh.has(id));
    return [
      ...[...fresh.values()].map((entity) => ({ collection, before: old.get(entity.id) ?? null, after: entity })),
      ...gone.map((entity) => ({ collection, before: entity, after: null })),
    ];
  });
}

const byId = (entities: Iterable<Entity> = []): ReadonlyMap<string, Entity> =>
  new Map([...entities].map((entity) => [entity.id, entity]));

/** The combined effect of several writes on each entity. */
export function combineEffects(effects: readonly Effect[]): readonly EntityPair[] {
  const pairs = new Map<string, EntityPair>();
  const add = (pair: EntityPair) => {
    const id = pair.before?.id ?? pair.after?.id;
    if (id === undefined) return;
    const key = `${pair.collection} ${id}`;
    const earlier = pairs.get(key);
    pairs.set(key, earlier ? { ...pair, before: earlier.before } : pair);
  };
  for (const { collection, before, after, along } of effects) {
    for (const one of along) {
      add({ collection: one.collection, before: one.entity, after: null, ...(before && { with: before.id }) });
    }
    add({ collection, before, after });
  }
  return [...pairs.values()].filter(({ before, after }) => before !== null || after !== null);
}
