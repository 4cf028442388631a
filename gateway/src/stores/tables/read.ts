/** Reading entities from tables. */
import type { Collection, Entities, Entity } from "@sluice/model";
import type { ListOptions, Lookup, Page, TagFilter } from "../store.ts";
import { claimKey, claimOf } from "./claims.ts";
import { isExpired } from "./expired.ts";
import { referenceKey, type Tables } from "./tables.ts";

/** @param now Milliseconds; keys that have expired at that time are left out. */
export function list<Name extends Collection>(
  tables: Tables,
  collection: Name,
  { size, after, where, tags, now }: ListOptions & { readonly now: number },
): Page<Name> {
  const rows = tables.rows[collection];
  const found: Entity[] = [];
  for (const id of where ? referringIds(tables, { collection, where, after }) : rows.keys(after)) {
    const entity = rows.get(id);
    if (!entity || !hasTags(entity, tags) || isExpired(collection, entity, now)) continue;
    if (found.length === size) return { entities: found as Entities[Name][], more: true };
    found.push(entity);
  }
  return { entities: found as Entities[Name][], more: false };
}

/** @param now As for `list`. */
export function find<Name extends Collection>(
  tables: Tables,
  collection: Name,
  { by, now }: { readonly by: Lookup; readonly now: number },
): Entities[Name] | null {
  const found =
    "id" in by ? tables.rows[collection].get(by.id) : tables.claims.get(claimKey(collection, claimOf(by)))?.entity;
  return found && !isExpired(collection, found, now) ? (found as Entities[Name]) : null;
}

function referringIds(
  { referring }: Tables,
  {
    collection,
    where,
    after,
  }: Required<Pick<ListOptions, "where">> & Pick<ListOptions, "after"> & { readonly collection: Collection },
): readonly string[] {
  const ids = referring.get(referenceKey(collection, where)) ?? [];
  return after === undefined ? ids : ids.filter((id) => id > after);
}

function hasTags({ tags: has }: Entity, filter: TagFilter | undefined): boolean {
  if (!filter) return true;
  const { tags, match } = filter;
  return match === "every" ? tags.every((tag) => has?.includes(tag)) : tags.some((tag) => has?.includes(tag));
}
