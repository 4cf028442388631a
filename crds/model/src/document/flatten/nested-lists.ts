/** The lists of entities that are nested in an entity of a declarative file. */
import { isRecord } from "@sluice/plugin-sdk";
import { type Collection, nestedLists } from "../../entities/index.ts";

export interface WrittenList {
  /** The enclosing entity's member that has the list as its value. */
  readonly list: string;
  readonly child: Collection;
  /** The children's reference to the enclosing entity, which the nesting replaces. */
  readonly member: string;
  /** The list; entries of decK's membership lists are converted to entities of `child`. */
  readonly value: unknown;
}

/**
 * decK's lists of a consumer's groups and of a group's consumers. Each entry names the group or consumer of one
 * membership.
 */
const membershipLists = [
  { parent: "consumers", list: "groups", member: "consumer", other: "consumer_group" },
  { parent: "consumer_groups", list: "consumers", member: "consumer_group", other: "consumer" },
] as const;

/** The nested lists that an entity of the file has. */
export function writtenLists(collection: Collection, item: Readonly<Record<string, unknown>>): readonly WrittenList[] {
  const own = nestedLists[collection].map(({ child, member }) => ({ list: child, child, member, value: item[child] }));
  const memberships = membershipLists
    .filter(({ parent }) => parent === collection)
    .map(({ list, member, other }): WrittenList => {
      const value = item[list];
      const entries = Array.isArray(value) ? value.map((entry) => membershipWith(other, entry)) : value;
      return { list, child: "consumer_group_consumers", member, value: entries };
    });
  return [...own, ...memberships].filter(({ value }) => value !== undefined);
}

/** The entry as a membership. Only its id or name is used: the file defines the group or consumer elsewhere. */
function membershipWith(other: string, entry: unknown): unknown {
  if (!isRecord(entry)) return entry;
  const { id, name, username } = entry;
  return { [other]: id ?? name ?? username ?? {} };
}
