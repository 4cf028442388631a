/** Assembles plans. */
import { type Collection, type Entity, entityNameOf, type Route, type Service } from "@sluice/model";
import type { Effect } from "../../stores/store.ts";
import type { EntityReader } from "../requests.ts";
import { combineEffects, type EntityPair, type EntitySet, pairsBetween } from "./entity-pairs.ts";
import { changesBetween, type MemberChange, setMembers } from "./member-changes.ts";
import { type ReroutedRequests, reroutedRequests } from "./rerouted-requests.ts";

export interface EntityLabel {
  readonly collection: Collection;
  readonly id: string;
  /** Null: it has none, or its name is secret. */
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

const named = (collection: Collection, entity: Entity): EntityLabel => ({
  collection,
  id: entity.id,
  name: collection === "keyauth_credentials" ? null : (entityNameOf(collection, entity) ?? null),
});

/** The differences; an entity that is written unchanged is left out. */
export function summaryOf(pairs: readonly EntityPair[]): PlanSummary {
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

/** The plan that leads from one set of entities to another. */
export function planBetween(before: EntitySet, after: EntitySet): ChangePlan {
  const pairs = pairsBetween(before, after);
  const summary = summaryOf(pairs);
  const of = (set: EntitySet) => ({ routes: [...(set.routes ?? [])], services: [...(set.services ?? [])] });
  const requests = touchesRouting(summary)
    ? reroutedRequests(of(before) as Routing, of(after) as Routing, pairs)
    : null;
  return { ...summary, requests };
}

interface Routing {
  readonly routes: readonly Route[];
  readonly services: readonly Service[];
}

const touchesRouting = ({ created, changed, deleted }: PlanSummary): boolean =>
  [created, changed, deleted].flat().some(({ collection }) => collection === "routes" || collection === "services");

/** The plan of writes whose effects the store has computed but not written. */
export async function planOfWrites(store: EntityReader, effects: readonly Effect[]): Promise<ChangePlan> {
  const pairs = combineEffects(effects);
  const summary = summaryOf(pairs);
  if (!touchesRouting(summary)) return { ...summary, requests: null };
  const routes = await readAll(store, "routes");
  const services = await readAll(store, "services");
  if (!routes || !services) return { ...summary, requests: { sampled: 0, changed: [], incomplete: true } };
  const after = { routes: applyPairs("routes", routes, pairs), services: applyPairs("services", services, pairs) };
  return { ...summary, requests: reroutedRequests({ routes, services }, after, pairs) };
}

/** Above this number of routes, no requests are sampled. */
const MAX_READ = 20_000;

async function readAll<Name extends "routes" | "services">(store: EntityReader, collection: Name) {
  const all: (Name extends "routes" ? Route : Service)[] = [];
  for (let after: string | undefined; all.length <= MAX_READ; after = all.at(-1)?.id) {
    const { entities, more } = await store.list(collection, { size: 1000, ...(after !== undefined && { after }) });
    all.push(...(entities as typeof all));
    if (!more) return all;
  }
  return undefined;
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
