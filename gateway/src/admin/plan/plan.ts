/**
 * Plans: the effects of writes, whether the writes are carried out or only planned.
 *
 * | member | content |
 * |---|---|
 * | created | entities, with the members that differ from their defaults |
 * | changed | entities, with `{ member, before, after }` for each member that differs |
 * | deleted | entities, with dependents that are removed too |
 * | requests | sample requests that are routed, answered or handled differently after the writes |
 */
import { type Collection, type Entity, entityNameOf, isSecretLookup, perCollection } from "@sluice/model";
import type { ReasonToRefuse } from "../../balance/health-report.ts";
import type { EntityLists } from "../../stores/read-all.ts";
import type { Effect } from "../../stores/store.ts";
import { HttpError } from "../http/errors.ts";
import type { EntityReader } from "../requests.ts";
import type { EntityPair } from "./affected-routes.ts";
import type { ChangedRequests } from "./changed-requests.ts";
import { changesBetween, type MemberChange, setMembers } from "./member-changes.ts";
import type { EntityChanges } from "./planned-runtimes.ts";
import { readForPlan } from "./read-for-plan.ts";

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
  /** Null: nothing changes. */
  readonly requests: ChangedRequests | null;
}

/** A pair that may follow from the removal of another entity. */
interface CombinedPair extends EntityPair {
  /** The id of the entity whose removal also removed this entity. */
  readonly with?: string;
}

function combineEffects(effects: readonly Effect[]): readonly CombinedPair[] {
  const pairs = new Map<string, CombinedPair>();
  const add = (pair: CombinedPair) => {
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
export const summaryOf = (effects: readonly Effect[]): PlanSummary => summaryOfPairs(combineEffects(effects));

function summaryOfPairs(pairs: readonly CombinedPair[]): PlanSummary {
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

/** Makes the plan of writes whose effects the store has computed, without carrying them out. */
export type PlanOf = (effects: readonly Effect[]) => Promise<ChangePlan>;

export interface PlannerOptions {
  readonly store: EntityReader;
  readonly reasonToRefuse: ReasonToRefuse;
  /** Sentences about parts of the served configuration that the store does not contain. */
  readonly leftOut: () => Promise<readonly string[]>;
}

/** Maximum number of plans that are made at the same time: each compiles the configuration twice. */
const MAX_PLANS = 4;

/** Seconds after which a client may ask for a plan again. The samples of a plan are made for at most 6 seconds. */
const RETRY_AFTER = 5;

/** The returned function throws HttpError 429 while too many plans are being made. */
export function createPlanner(options: PlannerOptions): PlanOf {
  let running = 0;
  return async (effects) => {
    const combined = combineEffects(effects);
    const summary = summaryOfPairs(combined);
    if (Object.values(summary).every(({ length }) => length === 0)) return { ...summary, requests: null };
    if (running >= MAX_PLANS) throw tooManyPlans();
    running++;
    try {
      return { ...summary, requests: await changedRequestsOf(combined.filter(isChange), options) };
    } finally {
      running--;
    }
  };
}

const tooManyPlans = () =>
  new HttpError(
    429,
    { message: `${MAX_PLANS} plans are being made, which is the limit: try again in ${RETRY_AFTER} seconds` },
    { "Retry-After": String(RETRY_AFTER) },
  );

async function changedRequestsOf(
  pairs: readonly EntityPair[],
  { store, reasonToRefuse, leftOut }: PlannerOptions,
): Promise<ChangedRequests> {
  const entities = await readForPlan(store, pairs);
  const left_out = await leftOut();
  if (entities === null) return { sampled: 0, changed: [], incomplete: true, left_out };
  // On demand: without plans, the admin API needs neither the code that serves requests nor that of plugins.
  const { plannedRuntimes } = await import("./planned-runtimes.ts");
  const { changedRequests } = await import("./changed-requests.ts");
  const runtimes = plannedRuntimes({ entities, changes: entityChangesOf(pairs), reasonToRefuse });
  try {
    const requests = await changedRequests(runtimes, pairs);
    return { ...requests, left_out: [...left_out, ...requests.left_out] };
  } finally {
    runtimes.close();
  }
}

/** Timestamps alone are no change. */
const isChange = ({ collection, before, after }: EntityPair): boolean =>
  before === null || after === null || changesBetween(collection, before, after).length > 0;

export function entityChangesOf(pairs: readonly EntityPair[]): EntityChanges {
  const of = (collection: Collection) => pairs.filter((pair) => pair.collection === collection);
  const put = perCollection((collection) => of(collection).flatMap(({ after }) => after ?? []));
  const remove = perCollection((collection) =>
    of(collection).flatMap(({ before, after }) => (before && before.id !== after?.id ? [before.id] : [])),
  );
  return { put: put as Partial<Record<Collection, readonly Entity[]>> as EntityLists, remove };
}
