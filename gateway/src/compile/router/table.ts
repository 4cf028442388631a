/** The entries of one host pattern (or of no host), found by path. Versions share what they have in common. */
import { compareEntries, type Entry } from "./entry.ts";
import { type Edit, emptyTree, insert, insertSorted, type Node, remove } from "./radix.ts";

export interface Table {
  readonly prefixes: Node<Entry>;
  /** With a regular-expression path, in the order of `compareEntries`. */
  readonly patterns: readonly Entry[];
  /** Without a path, in the order of `compareEntries`. */
  readonly pathless: readonly Entry[];
}

export const emptyTable = (edit: Edit): Table => ({ prefixes: emptyTree(edit), patterns: [], pathless: [] });

export const isEmpty = ({ prefixes, patterns, pathless }: Table): boolean =>
  patterns.length === 0 &&
  pathless.length === 0 &&
  prefixes.items.length === 0 &&
  (prefixes.children === null || prefixes.children.size === 0);

export function withEntry(table: Table, entry: Entry, edit: Edit): Table {
  if (entry.prefix !== null) {
    const change = { text: entry.prefix, item: entry, edit, compare: compareEntries };
    return { ...table, prefixes: insert(table.prefixes, change) };
  }
  return entry.pattern
    ? { ...table, patterns: insertSorted(table.patterns, entry, compareEntries) }
    : { ...table, pathless: insertSorted(table.pathless, entry, compareEntries) };
}

export function withoutEntry(table: Table, entry: Entry, edit: Edit): Table {
  if (entry.prefix !== null) {
    return { ...table, prefixes: remove(table.prefixes, { text: entry.prefix, item: entry, edit }) };
  }
  const others = (entries: readonly Entry[]) => entries.filter((other) => other !== entry);
  return entry.pattern
    ? { ...table, patterns: others(table.patterns) }
    : { ...table, pathless: others(table.pathless) };
}
