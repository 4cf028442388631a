/** Plans between two states of a store, for tests. */
import { type Collection, collections, type Entity } from "@sluice/model";
import { createGuard } from "../../outbound/guard.ts";
import type { EntityLists } from "../../stores/read-all.ts";
import type { Effect, ListOptions, Lookup, Store } from "../../stores/store.ts";
import { type ChangePlan, createPlanner } from "./plan.ts";

const byId = (entities: readonly Entity[] = []) => new Map(entities.map((entity) => [entity.id, entity]));

type Members = Readonly<Record<string, unknown>>;

/** The effects of the writes that lead from one state of a store to another. */
export const effectsBetween = (before: EntityLists, after: EntityLists): readonly Effect[] =>
  collections.flatMap((collection) => {
    const [old, fresh] = [byId(before[collection]), byId(after[collection])];
    return [...new Set([...old.keys(), ...fresh.keys()])].map((id): Effect => {
      return { collection, before: old.get(id) ?? null, after: fresh.get(id) ?? null, along: [] };
    });
  });

/** The plan of these writes. */
export function planBetween(before: EntityLists, after: EntityLists): Promise<ChangePlan> {
  const entities = (collection: Collection) => (before[collection] ?? []) as readonly (Entity & Members)[];
  const list = async (collection: Collection, { where }: ListOptions) => ({
    entities: entities(collection).filter(
      (entity) => where === undefined || Object(entity[where.member]).id === where.id,
    ),
    more: false,
  });
  const find = async (collection: Collection, by: Lookup) =>
    entities(collection).find((entity) => ("id" in by ? entity.id === by.id : entity[by.member] === by.value)) ?? null;
  const { reasonToRefuse } = createGuard({ allowedUpstreams: [], ownListeners: [] });
  const store = { list: list as Store["list"], find: find as Store["find"] };
  return createPlanner(store, reasonToRefuse)(effectsBetween(before, after));
}
