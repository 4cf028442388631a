/** Computes the writes that change a store's entities to those of a complete document. */
import { type Collection, canonicalJson, checkEntity, collections, type Entity, references } from "@sluice/model";
import { etagOf } from "./etag.ts";
import type { EntityLists } from "./read-all.ts";
import type { Write } from "./store.ts";
import { entityClaimKeys } from "./tables/claims.ts";

export interface DifferenceOptions {
  /** Unix time in seconds, for entities whose timestamps are 0 because the document leaves them out. */
  readonly now: number;
  /** Keeps entities that only the store has. Default: they are removed. */
  readonly keep?: boolean;
}

interface Step {
  readonly collection: Collection;
  readonly was: Entity | undefined;
  readonly will: Entity | undefined;
}

/**
 * The minimal writes from one state to the other. Their order ensures that references exist and that no two entities
 * have the same name at any time. Timestamps that the document leaves out do not count as differences: existing
 * entities keep theirs. An entity without an id in the document is matched by name.
 *
 * If entities exchange names in a cycle, one of them is removed first and created again. An entity that the document
 * does not contain is removed first if another entity needs its name. Before such an early removal, all entities that
 * refer to the entity are removed too; those that the document contains, or `keep` keeps, are created again.
 */
export function writesBetween(
  before: EntityLists,
  after: EntityLists,
  { now, keep = false }: DifferenceOptions,
): readonly Write[] {
  const steps = stepsOf(before, adoptIds(before, after), { now, keep });
  const gone = steps.filter(({ will }) => !will);
  const fresh = steps.filter(({ was }) => !was);
  const changed = steps.filter(({ was, will }) => was && will && will !== was);
  const { ordered, inTheWay } = untangle({ gone, changed, fresh });
  const early = withReferrers(inTheWay, steps);

  const writes: Write[] = [];
  const remove = ({ collection, was }: Step) => {
    if (was) writes.push({ op: "remove", collection, by: { id: was.id }, etag: etagOf(was) });
  };
  for (const step of childrenFirst([...early])) remove(step);
  for (const collection of collections) {
    const own = (list: readonly Step[]) => list.filter((step) => step.collection === collection);
    for (const step of own([...ordered])) {
      const { was, will } = step;
      if (was && will && !early.has(step)) writes.push({ op: "replace", collection, entity: will, etag: etagOf(was) });
    }
    for (const { will } of [...own([...early]), ...own(fresh)]) {
      if (will) writes.push({ op: "create", collection, entity: will });
    }
  }
  for (const step of childrenFirst(gone)) if (!early.has(step)) remove(step);
  return writes;
}

function stepsOf(before: EntityLists, after: EntityLists, { now, keep }: Required<DifferenceOptions>): readonly Step[] {
  return collections.flatMap((collection): readonly Step[] => {
    const was = new Map<string, Entity>(before[collection]?.map((entity) => [entity.id, entity]));
    const will = new Map<string, Entity>(after[collection]?.map((entity) => [entity.id, entity]));
    return [
      ...[...was.values()].map((entity) => {
        const given = will.get(entity.id);
        const kept = keep ? entity : undefined;
        return { collection, was: entity, will: given === undefined ? kept : withTimes(given, entity, now) };
      }),
      ...[...will.values()].flatMap((entity) =>
        was.has(entity.id) ? [] : [{ collection, was: undefined, will: withTimes(entity, undefined, now) }],
      ),
    ];
  });
}

interface Times {
  readonly created_at: number;
  readonly updated_at?: number;
}

/**
 * The entity with values for the timestamps that the document leaves out; the same object as the previous entity if
 * nothing else differs.
 */
function withTimes(entity: Entity, was: Entity | undefined, now: number): Entity {
  const { created_at, updated_at }: Times = entity;
  const created = created_at || (was ? was.created_at : now);
  if (was) {
    const { updated_at: before }: Times = was;
    const same = {
      ...entity,
      created_at: created,
      ...(updated_at !== undefined && { updated_at: updated_at || before }),
    };
    if (canonicalJson(same) === canonicalJson(was)) return was;
  }
  return { ...entity, created_at: created, ...(updated_at !== undefined && { updated_at: updated_at || now }) };
}

interface Tangle {
  readonly gone: readonly Step[];
  readonly changed: readonly Step[];
  readonly fresh: readonly Step[];
}

/** The changes in an order in which each name is released before it is reused, and the steps that block other steps. */
function untangle({ gone, changed, fresh }: Tangle) {
  const holders = new Map<string, Step>();
  for (const step of [...gone, ...changed]) {
    for (const claim of step.was ? entityClaimKeys(step.collection, step.was) : []) holders.set(claim, step);
  }
  const holdersOf = (step: Step): readonly Step[] =>
    (step.will ? entityClaimKeys(step.collection, step.will) : []).flatMap((claim) => {
      const holder = holders.get(claim);
      return holder && holder !== step ? [holder] : [];
    });

  const inTheWay = new Set<Step>();
  for (const step of [...changed, ...fresh]) {
    for (const holder of holdersOf(step)) if (!holder.will) inTheWay.add(holder);
  }
  const ordered = new Set<Step>();
  const seen = new Set<Step>();
  for (const first of changed) {
    // A step waits for the holders of its names. A chain of holders can be long, so it is followed without recursion.
    const chain = [first];
    for (let step = chain.at(-1); step; step = chain.at(-1)) {
      seen.add(step);
      const next = holdersOf(step).filter((holder) => holder.will);
      const round = next.find((holder) => chain.includes(holder));
      if (round) inTheWay.add(round);
      const unseen = next.find((holder) => !seen.has(holder));
      if (unseen) chain.push(unseen);
      else {
        chain.pop();
        ordered.add(step);
      }
    }
  }
  return { ordered, inTheWay };
}

/** Adds all entities that refer to the given ones: these referrers would prevent the removal or be removed too. */
function withReferrers(inTheWay: ReadonlySet<Step>, steps: readonly Step[]): ReadonlySet<Step> {
  const found = new Set(inTheWay);
  if (found.size === 0) return found;
  // Parents come before children: one pass over the steps finds all referrers.
  const ids = new Set([...found].map(keyOf));
  for (const step of steps) {
    const members = step.was as unknown as References | undefined;
    const refers = references[step.collection].some(({ member, to }) => ids.has(`${to} ${members?.[member]?.id}`));
    if (!refers || !step.was) continue;
    found.add(step);
    ids.add(keyOf(step));
  }
  return found;
}

const keyOf = ({ collection, was }: Step): string => `${collection} ${was?.id}`;

const childrenFirst = (steps: readonly Step[]): readonly Step[] =>
  steps.toSorted((a, b) => collections.indexOf(b.collection) - collections.indexOf(a.collection));

type References = Readonly<Record<string, { readonly id: string } | null>>;

/**
 * The entities of `after`; an entity with a derived id gets the id of its counterpart in `before`. An id that the
 * document leaves out is derived from the name, but the store may hold the entity under a different id, such as a
 * random one from its creation.
 */
export function adoptIds(before: EntityLists, after: EntityLists): EntityLists {
  const renamed = new Map<string, string>();
  const adopted = collections.map((collection) => {
    const held: readonly Entity[] = before[collection] ?? [];
    const given: readonly Entity[] = after[collection] ?? [];
    const known = new Set(held.map(({ id }) => id));
    const byClaim = new Map(
      held.flatMap((entity) => entityClaimKeys(collection, entity).map((claim) => [claim, entity.id] as const)),
    );
    const taken = new Set(given.map(({ id }) => id));
    const entities = given.map((entity) => {
      const referring = refer(collection, entity, renamed);
      if (known.has(entity.id)) return referring;
      const like = entityClaimKeys(collection, referring).flatMap((claim) => byClaim.get(claim) ?? [])[0];
      if (like === undefined || taken.has(like) || !isDerived(collection, entity)) return referring;
      taken.add(like);
      renamed.set(`${collection} ${entity.id}`, like);
      return { ...referring, id: like };
    });
    return [collection, entities];
  });
  return Object.fromEntries(adopted) as EntityLists;
}

function refer(collection: Collection, entity: Entity, renamed: ReadonlyMap<string, string>): Entity {
  if (renamed.size === 0) return entity;
  const members = entity as unknown as References;
  const changed = references[collection].flatMap(({ member, to }) => {
    const id = renamed.get(`${to} ${members[member]?.id}`);
    return id === undefined ? [] : [[member, { id }] as const];
  });
  return changed.length === 0 ? entity : { ...entity, ...Object.fromEntries(changed) };
}

const isDerived = (collection: Collection, entity: Entity): boolean =>
  checkEntity(collection, { ...entity, id: null }, { database: true }).value?.id === entity.id;
