/**
 * A document may leave ids out: they then follow from names. A store may hold the same entity under another id, such as
 * a random one from its creation; the document then means that entity.
 */
import { type Collection, checkEntity, collections, type Entity, references } from "@sluice/model";
import type { EntityLists } from "./read-all.ts";
import { claimKey, claimsOf, entityClaimKeys } from "./tables/claims.ts";

type References = Readonly<Record<string, { readonly id: string } | null>>;

/** The entities of `after`; those with derived ids get the ids of their counterparts in `before`. */
export function adoptIds(before: EntityLists, after: EntityLists): EntityLists {
  const renamed = new Map<string, string>();
  const adopted = collections.map((collection) => {
    const known = knownOf(collection, before);
    const taken = new Set((after[collection] ?? []).map(({ id }) => id));
    const entities = (after[collection] ?? []).map((entity: Entity) => {
      const referring = refer(collection, entity, renamed);
      if (known.ids.has(entity.id)) return referring;
      const like = entityClaimKeys(collection, referring).flatMap((claim) => known.byClaim.get(claim) ?? [])[0];
      if (like === undefined || taken.has(like) || !isDerived(collection, entity)) return referring;
      taken.add(like);
      renamed.set(`${collection} ${entity.id}`, like);
      return { ...referring, id: like };
    });
    return [collection, entities];
  });
  return Object.fromEntries(adopted) as EntityLists;
}

function knownOf(collection: Collection, before: EntityLists) {
  const entities: readonly Entity[] = before[collection] ?? [];
  const byClaim = new Map(
    entities.flatMap((entity) =>
      claimsOf(collection, entity).map((claim) => [claimKey(collection, claim), entity.id] as const),
    ),
  );
  return { ids: new Set(entities.map(({ id }) => id)), byClaim };
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
