/** Plans between two states of a store, for tests. */
import { collections, type Entity } from "@sluice/model";
import { createGuard } from "../../outbound/guard.ts";
import type { EntityLists } from "../../stores/read-all.ts";
import type { Effect } from "../../stores/store.ts";
import { createTestingStore } from "../testing-store.ts";
import { type ChangePlan, createPlanner } from "./plan.ts";

const byId = (entities: readonly Entity[] = []) => new Map(entities.map((entity) => [entity.id, entity]));

/** The effects of the writes that lead from one state of a store to another. */
export const effectsBetween = (before: EntityLists, after: EntityLists): readonly Effect[] =>
  collections.flatMap((collection) => {
    const [old, fresh] = [byId(before[collection]), byId(after[collection])];
    return [...new Set([...old.keys(), ...fresh.keys()])].map((id): Effect => {
      return { collection, before: old.get(id) ?? null, after: fresh.get(id) ?? null, along: [] };
    });
  });

export interface PlanBetweenOptions {
  /** Addresses in networks of this list are not refused. Default: none, as for a node. */
  readonly allowedUpstreams?: readonly string[];
}

/** The plan of these writes. */
export function planBetween(
  before: EntityLists,
  after: EntityLists,
  { allowedUpstreams = [] }: PlanBetweenOptions = {},
): Promise<ChangePlan> {
  const placed = collections.flatMap((collection) =>
    (before[collection] ?? []).map((entity) => ({ collection, entity })),
  );
  const { reasonToRefuse } = createGuard({ allowedUpstreams, ownListeners: [] });
  const { store } = createTestingStore(placed);
  return createPlanner({ store, reasonToRefuse, leftOut: async () => [] })(effectsBetween(before, after));
}
