/** Reading entities from tables. */
import { type Collection, type Entities, type Entity, hasExpired } from "@sluice/model";
import type { EntityPage, ListOptions, Lookup, TagFilter } from "../store.ts";
import { claimKey, claimOf } from "./claims.ts";
import { indexAfter, referenceKey, type Tables } from "./tables.ts";

/** @param now Milliseconds; keys that have expired at that time are left out. */
export function listFromTables<Name extends Collection>(
  tables: Tables,
  collection: Name,
  { size, after, where, tags, now }: ListOptions & { readonly now: number },
): EntityPage<Name> {
  const rows = tables.rows[collection];
  const ids = tables.ids.get(where ? referenceKey(collection, where) : collection) ?? [];
  const found: Entity[] = [];
  for (let index = after === undefined ? 0 : indexAfter(ids, after); index < ids.length; index++) {
    const entity = rows.get(ids[index] ?? "");
    if (!entity || !hasTags(entity, tags) || isExpired(entity, now)) continue;
    if (found.length === size) return { entities: found as Entities[Name][], more: true };
    found.push(entity);
  }
  return { entities: found as Entities[Name][], more: false };
}

/** @param now As for `listFromTables`. */
export function findInTables<Name extends Collection>(
  tables: Tables,
  collection: Name,
  { by, now }: { readonly by: Lookup; readonly now: number },
): Entities[Name] | null {
  const found =
    "id" in by ? tables.rows[collection].get(by.id) : tables.claims.get(claimKey(collection, claimOf(by)))?.entity;
  return found && !isExpired(found, now) ? (found as Entities[Name]) : null;
}

function hasTags({ tags: has }: Entity, filter: TagFilter | undefined): boolean {
  if (!filter) return true;
  const { tags, match } = filter;
  return match === "every" ? tags.every((tag) => has?.includes(tag)) : tags.some((tag) => has?.includes(tag));
}

/** Whether the entity has expired, by the rule of the nodes: it counts as removed, although it is still stored. */
export const isExpired = (entity: Entity, now: number): boolean => "ttl" in entity && hasExpired(entity, now);
