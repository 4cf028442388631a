/** Uniqueness: values that no two entities of a collection may share. */

import type { Violation } from "@sluice/plugin-sdk";
import { type Collection, collections } from "../../entities/index.ts";
import { claimIndexKey } from "../entity-index.ts";
import type { EntityPut, StoredEntity } from "../stored-entity.ts";
import type { PendingChange } from "./integrity.ts";
import { type UniqueClaim, uniqueClaims } from "./unique-claims.ts";

/** Violations of entities that share a unique value with a stored entity or with an earlier entity of the change. */
export function findDuplicates({ lookups, puts, gone }: PendingChange): readonly Violation[] {
  return collections.flatMap((collection) => {
    const put = puts[collection];
    if (put.length === 0) return [];
    const ids = new Set(put.map(({ entity }) => entity.id));
    const { holders } = lookups(collection);
    return uniqueClaims[collection].flatMap((claim, index) => {
      const staysWith = (value: string) =>
        (holders.get(claimIndexKey(index, value)) ?? []).filter(({ id }) => !ids.has(id) && !gone[collection].has(id));
      return clashesOf(claim, put, staysWith).map(({ path, entity }) => ({
        path,
        message: clash(collection, claim.describe(entity)),
      }));
    });
  });
}

/** The message for two items with one id. It names the shared value from which the id was derived, if there is one. */
export function duplicateIdMessage(collection: Collection, one: StoredEntity, other: StoredEntity): string {
  const claim = uniqueClaims[collection].find(({ claimed }) => (claimed(one) ?? one) === claimed(other));
  return clash(collection, claim?.describe(one) ?? `primary key set to '${one.id}'`);
}

const clash = (collection: Collection, what: string): string =>
  `uniqueness violation: '${collection}' entity with ${what} already declared`;

function clashesOf(
  claim: UniqueClaim,
  puts: readonly EntityPut[],
  staysWith: (value: string) => readonly StoredEntity[],
): readonly EntityPut[] {
  const holders = new Map<string, StoredEntity[]>();
  return puts.filter(({ entity }) => {
    const value = claim.claimed(entity);
    if (value === undefined) return false;
    const others = holders.get(value) ?? [...staysWith(value)];
    const taken = others.some((other) => claim.overlap?.(entity, other) ?? true);
    others.push(entity);
    holders.set(value, others);
    return taken;
  });
}
