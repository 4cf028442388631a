/** Writes to tables: computes the effects of a write, or its fault. */
import { type Collection, collections, type Entity, entities, referencedId, references } from "@sluice/model";
import { etagOf } from "../etag.ts";
import type { Effect, Write, WriteFault } from "../store.ts";
import { claimKey, claimOf, claimsOf, entityClaimKeys, faultyClaimKeys } from "./claims.ts";
import { isExpired } from "./read.ts";
import { type PlacedEntity, type Tables, TablesDraft } from "./tables.ts";

export type TableWriteResult =
  | { readonly tables: Tables; readonly effects: readonly Effect[]; readonly fault?: undefined }
  | { readonly fault: WriteFault; readonly index: number; readonly tables?: undefined };

/**
 * Performs all writes, each on the result of the writes before it, or returns the first fault. The previous tables are
 * unchanged.
 *
 * @param now Milliseconds; keys that have expired at that time do not conflict and are removed. Default: the current
 * time.
 */
export function applyWrite(
  before: Tables,
  writes: readonly Write[],
  { now = Date.now() }: { readonly now?: number } = {},
): TableWriteResult {
  const draft = new TablesDraft(before);
  const effects: Effect[] = [];
  for (const [index, one] of writes.entries()) {
    const expired = one.op === "remove" ? [] : dropExpired(draft, one, now);
    const done = steps[one.op](draft, one as never);
    if (done.fault) return { fault: done.fault, index };
    const { effect } = done;
    effects.push(expired.length > 0 ? { ...effect, along: [...expired, ...effect.along] } : effect);
  }
  return { tables: draft.toTables(), effects };
}

type Step =
  | { readonly effect: Effect; readonly fault?: undefined }
  | { readonly fault: WriteFault; readonly effect?: undefined };

const steps: { readonly [Op in Write["op"]]: (draft: TablesDraft, one: Extract<Write, { op: Op }>) => Step } = {
  create(draft, { collection, entity }) {
    const fault = clashOf(draft, { collection, entity });
    if (fault) return { fault };
    draft.put({ collection, entity });
    return { effect: { collection, before: null, after: entity, along: [] } };
  },

  replace(draft, { collection, entity, etag }) {
    const old = draft.get(collection, entity.id);
    if (!old) return { fault: gone(collection) };
    const fault = changedSince(collection, old, etag) ?? clashOf(draft, { collection, entity }, old);
    if (fault) return { fault };
    draft.drop({ collection, entity: old });
    draft.put({ collection, entity });
    return { effect: { collection, before: old, after: entity, along: [] } };
  },

  remove(draft, { collection, by, etag }) {
    const key = claimKey(collection, claimOf(by));
    const old = "id" in by ? draft.get(collection, by.id) : draft.claims.get(key)?.entity;
    const changed = changedSince(collection, old, etag);
    if (changed) return { fault: changed };
    if (!old) return { effect: { collection, before: dropFaulty(draft, key), after: null, along: [] } };
    const { fault, along } = dependentsOf(draft, { collection, entity: old });
    if (fault) return { fault };
    for (const placed of [...along, { collection, entity: old }]) draft.drop(placed);
    return { effect: { collection, before: old, after: null, along } };
  },
};

/** Removes expired entities that have the id or a claim of the entity, and returns them. */
function dropExpired(draft: TablesDraft, { collection, entity }: PlacedEntity, now: number): readonly PlacedEntity[] {
  const holders = [
    draft.get(collection, entity.id),
    ...entityClaimKeys(collection, entity).map((key) => draft.claims.get(key)?.entity),
  ];
  return [...new Set(holders)].flatMap((holder) => {
    if (!holder || !isExpired(holder, now)) return [];
    const placed = { collection, entity: holder };
    draft.drop(placed);
    return [placed];
  });
}

function changedSince(collection: Collection, old: Entity | undefined, etag: string | undefined) {
  if (etag === undefined || (old && etagOf(old) === etag)) return undefined;
  return old
    ? ({ kind: "changed", message: `the ${entities[collection].singular} was changed in the meantime` } as const)
    : gone(collection);
}

const gone = (collection: Collection) =>
  ({ kind: "changed", message: `the ${entities[collection].singular} was removed in the meantime` }) as const;

/**
 * The conflict of the entity with existing ones; undefined: there is none. The checks have the order of Postgres and
 * Kong: primary key, unique members, references.
 */
function clashOf(draft: TablesDraft, { collection, entity }: PlacedEntity, old?: Entity): WriteFault | undefined {
  const { id } = entity;
  if (!old && (draft.get(collection, id) || draft.faulty.get(claimKey(collection, { id }))))
    return { kind: "primary-key", id };
  // A claim that the entity had before this write is not refused, although a write outside of this store may have given
  // the same claim to another entity.
  const own = new Set(old ? entityClaimKeys(collection, old) : []);
  const taken = claimsOf(collection, entity).find((claim) => {
    const key = claimKey(collection, claim);
    if (own.has(key)) return false;
    const holder = draft.claims.get(key);
    // An invalid entity keeps its name: otherwise another entity could take the name, and the two would conflict later.
    return (holder !== undefined && holder.entity.id !== old?.id) || draft.faulty.get(key) !== undefined;
  });
  if (taken) return { kind: "unique", members: taken };
  for (const { member, to } of references[collection]) {
    const other = referencedId(entity, member);
    if (other !== undefined && !draft.get(to, other)) return { kind: "foreign-key", member, to, id: other };
  }
  return undefined;
}

/**
 * The dependents that are removed with an entity, children before parents; or the fault if a dependent forbids the
 * removal.
 */
function dependentsOf(
  draft: TablesDraft,
  { collection, entity }: PlacedEntity,
): { readonly fault?: WriteFault; readonly along: readonly PlacedEntity[] } {
  const along: PlacedEntity[] = [];
  for (const child of collections) {
    for (const { member, onDelete } of references[child].filter(({ to }) => to === collection)) {
      const referring = draft.referringTo(child, { member, id: entity.id });
      if (onDelete === "restrict" && referring.length > 0)
        return { fault: { kind: "referenced", by: child, collection }, along: [] };
      for (const one of referring) {
        const placed = { collection: child, entity: one };
        const below = dependentsOf(draft, placed);
        if (below.fault) return below;
        along.push(...below.along, placed);
      }
    }
  }
  // An entity that refers to several removed entities is removed once.
  return { along: [...new Map(along.map((placed) => [`${placed.collection} ${placed.entity.id}`, placed])).values()] };
}

function dropFaulty(draft: TablesDraft, key: string): Entity | null {
  const placed = draft.faulty.get(key);
  if (!placed) return null;
  const { collection, entity } = placed;
  for (const claim of faultyClaimKeys(collection, entity)) draft.faulty.set(claim, undefined);
  return entity;
}
