/**
 * Plans: the effects of writes, whether the writes are carried out or only planned.
 *
 * | member | content |
 * |---|---|
 * | created | entities, with the members that differ from their defaults |
 * | changed | entities, with `{ member, before, after }` for each member that differs |
 * | deleted | entities, with dependents that are removed too |
 * | requests | sample requests that a different route or service answers after the writes |
 */
import { type Collection, type Entity, entityNameOf, isSecretLookup, type Route, type Service } from "@sluice/model";
import { readPages } from "../../stores/read-all.ts";
import type { Effect } from "../../stores/store.ts";
import type { EntityReader } from "../requests.ts";
import { changesBetween, type MemberChange, setMembers } from "./member-changes.ts";
import { type ReroutedRequests, reroutedRequests } from "./rerouted-requests.ts";

interface EntityLabel {
  readonly collection: Collection;
  readonly id: string;
  /** Null: the entity has no name, or its name is secret. */
  readonly name: string | null;
}

export interface PlanSummary {
  readonly created: readonly (EntityLabel & { readonly members: Readonly<Record<string, unknown>> })[];
  readonly changed: readonly (EntityLabel & { readonly members: readonly MemberChange[] })[];
  readonly deleted: readonly (EntityLabel & { readonly along: readonly EntityLabel[] })[];
}

export interface ChangePlan extends PlanSummary {
  /** Null: no route and no service changes. */
  readonly requests: ReroutedRequests | null;
}

/** The combined effect of several writes on one entity. */
interface EntityPair extends Pick<Effect, "collection" | "before" | "after"> {
  /** The id of the entity whose removal also removed this entity. */
  readonly with?: string;
}

function combineEffects(effects: readonly Effect[]): readonly EntityPair[] {
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

const named = (collection: Collection, entity: Entity): EntityLabel => ({
  collection,
  id: entity.id,
  name: isSecretLookup(collection) ? null : (entityNameOf(collection, entity) ?? null),
});

/** What the writes create, change and delete. An entity that is written unchanged is left out. */
export function summaryOf(effects: readonly Effect[]): PlanSummary {
  const pairs = combineEffects(effects);
  const created = pairs.flatMap(({ collection, before, after }) =>
    after && !before ? [{ ...named(collection, after), members: setMembers(collection, after) }] : [],
  );
  const changed = pairs.flatMap(({ collection, before, after }) => {
    if (!after || !before) return [];
    const members = changesBetween(collection, before, after);
    return members.length > 0 ? [{ ...named(collection, after), members }] : [];
  });
  const gone = pairs.flatMap(({ before, after, ...pair }) => (before && !after ? [{ ...pair, entity: before }] : []));
  const deleted = gone.flatMap(({ collection, entity, with: leader }) => {
    if (leader !== undefined && gone.some((other) => other.entity.id === leader)) return [];
    const along = gone
      .filter((other) => other.with === entity.id)
      .map((other) => named(other.collection, other.entity));
    return [{ ...named(collection, entity), along }];
  });
  return { created, changed, deleted };
}

/** The plan of writes that the store has not carried out, but whose effects it has computed. */
export async function planOfWrites(store: EntityReader, effects: readonly Effect[]): Promise<ChangePlan> {
  const summary = summaryOf(effects);
  const touched = Object.values(summary)
    .flat()
    .map(({ collection }) => collection);
  if (!touched.includes("routes") && !touched.includes("services")) return { ...summary, requests: null };
  const routes = await readUpTo<Route>(store, "routes");
  const services = await readUpTo<Service>(store, "services");
  if (!routes || !services) return { ...summary, requests: { sampled: 0, changed: [], incomplete: true } };
  const pairs = combineEffects(effects);
  const after = { routes: applyPairs("routes", routes, pairs), services: applyPairs("services", services, pairs) };
  const changed = pairs.flatMap(({ collection, before, after }) =>
    collection === "routes" ? [before, after].filter((route) => route !== null) : [],
  );
  return { ...summary, requests: reroutedRequests({ routes, services }, after, changed as Route[]) };
}

/** If there are more than about this number of routes or services, a plan has no sample requests. */
const MAX_READ = 20_000;

async function readUpTo<One extends Entity>(store: EntityReader, collection: Collection): Promise<One[] | undefined> {
  const all: Entity[] = [];
  for await (const page of readPages(store, collection)) {
    if (all.length > MAX_READ) return undefined;
    all.push(...page);
  }
  return all as One[];
}

function applyPairs<One extends Entity>(
  collection: Collection,
  all: readonly One[],
  pairs: readonly EntityPair[],
): readonly One[] {
  const byId = new Map<string, One>(all.map((entity) => [entity.id, entity]));
  for (const { before, after } of pairs.filter((pair) => pair.collection === collection)) {
    if (before) byId.delete(before.id);
    if (after) byId.set(after.id, after as One);
  }
  return [...byId.values()];
}
