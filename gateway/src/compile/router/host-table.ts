/**
 * The route entries of one host pattern (or of no host), by path. A changed table shares its unchanged parts with the
 * previous table.
 */

import { compareEntries } from "./precedence.ts";
import { type EditToken, emptyTree, insertItem, insertSorted, type RadixNode, removeItem } from "./radix.ts";
import type { RouteEntry } from "./route-entry.ts";

export interface HostTable {
  /** Entries with a prefix or an exact path. */
  readonly prefixes: RadixNode<RouteEntry>;
  /** Entries with a `pattern`, in the order of `compareEntries`. */
  readonly patterns: readonly RouteEntry[];
  /** Entries without a path, in the order of `compareEntries`. */
  readonly pathless: readonly RouteEntry[];
}

export const emptyTable = (edit: EditToken): HostTable => ({ prefixes: emptyTree(edit), patterns: [], pathless: [] });

export const isEmpty = ({ prefixes, patterns, pathless }: HostTable): boolean =>
  patterns.length === 0 &&
  pathless.length === 0 &&
  prefixes.items.length === 0 &&
  (prefixes.children === null || prefixes.children.size === 0);

export function withEntry(table: HostTable, entry: RouteEntry, edit: EditToken): HostTable {
  if (entry.prefix !== null) {
    const change = { text: entry.prefix, item: entry, edit, compare: compareEntries };
    return { ...table, prefixes: insertItem(table.prefixes, change) };
  }
  return entry.pattern
    ? { ...table, patterns: insertSorted(table.patterns, entry, compareEntries) }
    : { ...table, pathless: insertSorted(table.pathless, entry, compareEntries) };
}

export function withoutEntry(table: HostTable, entry: RouteEntry, edit: EditToken): HostTable {
  if (entry.prefix !== null) {
    return { ...table, prefixes: removeItem(table.prefixes, { text: entry.prefix, item: entry, edit }) };
  }
  const others = (entries: readonly RouteEntry[]) => entries.filter((other) => other !== entry);
  return entry.pattern
    ? { ...table, patterns: others(table.patterns) }
    : { ...table, pathless: others(table.pathless) };
}
