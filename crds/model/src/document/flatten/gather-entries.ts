/** Collects a document's entities from all lists, including nested ones, each with its original path. */

import { isRecord, type Violation } from "@sluice/plugin-sdk";
import { type Collection, collections, entities } from "../../entities/index.ts";
import { writtenLists } from "./nested-lists.ts";
import {
  checkRemarks,
  emptyCollection,
  type Findings,
  GROUP_PLUGINS,
  isEmptyList,
  unsupportedCollection,
  unsupportedCollections,
} from "./top-level.ts";

export interface DocumentEntry {
  readonly collection: Collection;
  /** The entity's own members, as written. */
  readonly item: Readonly<Record<string, unknown>>;
  readonly path: Violation["path"];
  /** The enclosing entry, and the reference member that the nesting replaces. */
  readonly parent?: { readonly entry: DocumentEntry; readonly member: string };
}

type List = Omit<DocumentEntry, "item"> & { readonly value: unknown };

interface Gathered extends Findings {
  /**
   * The entries of the top-level lists, in the order of `collections`, and then those of `consumer_group_plugins`.
   * Entries of one list are in document order, each followed by its children.
   */
  readonly entries: readonly DocumentEntry[];
}

/** Never fails: values that are not lists or records are reported and skipped. */
export function gatherEntries(document: Readonly<Record<string, unknown>>): Gathered {
  const entries: DocumentEntry[] = [];
  const violations: Violation[] = [];
  const warnings: Violation[] = [];

  function gather({ collection, value, path, parent }: List): void {
    if (value === undefined || value === null) return;
    if (!Array.isArray(value)) {
      violations.push({ path, message: "expected an array" });
      return;
    }
    for (const [index, raw] of value.entries()) {
      const place = [...path, index];
      if (!isRecord(raw)) {
        violations.push({ path: place, message: "expected a record" });
        continue;
      }
      const { item, lists, ...found } = openEntry(collection, raw, { path: place, parent });
      violations.push(...found.violations);
      warnings.push(...found.warnings);
      const entry: DocumentEntry = { collection, item, path: place, parent };
      entries.push(entry);
      for (const { list, child, member, value: children } of lists) {
        gather({ collection: child, value: children, path: [...place, list], parent: { entry, member } });
      }
      if (collection === "consumer_groups") gatherGroupPlugins(raw, place, { entry, member: "consumer_group" });
    }
  }

  /**
   * Gathers the entries of `consumer_group_plugins` as plugins, for `sluice migrate`. When a file is loaded, such
   * entries are a violation (`top-level.ts`).
   */
  function gatherGroupPlugins(
    holder: DocumentEntry["item"],
    path: Violation["path"],
    parent?: DocumentEntry["parent"],
  ) {
    const value = holder[GROUP_PLUGINS];
    const list = { collection: "plugins" as const, value, path: [...path, GROUP_PLUGINS] };
    if (!isEmptyList(value ?? null)) gather(parent === undefined ? list : { ...list, parent });
  }

  for (const collection of collections) gather({ collection, value: document[collection], path: [collection] });
  gatherGroupPlugins(document, []);
  return { entries, violations, warnings };
}

/** Separates the entity's own members from lists of children, comments, and members that are not allowed. */
function openEntry(
  collection: Collection,
  raw: Readonly<Record<string, unknown>>,
  at: Pick<DocumentEntry, "path" | "parent">,
) {
  const violations = [...checkRemarks(raw, at.path)];
  const warnings: Violation[] = [];
  const { _comment, _ignore, ...item }: Record<string, unknown> = raw;
  const lists = writtenLists(collection, item);
  for (const { list } of lists) delete item[list];
  for (const [member, value] of Object.entries(item)) {
    const path = [...at.path, member];
    if (member === at.parent?.member) {
      const { singular } = entities[at.parent.entry.collection];
      if (value !== null)
        violations.push({ path, message: `unknown field (already defined by the enclosing ${singular})` });
    } else if (unsupportedCollections.has(member) && !(member in entities[collection].schema.properties)) {
      if (isEmptyList(value)) warnings.push({ path, message: emptyCollection(member) });
      else violations.push({ path, message: unsupportedCollection(member) });
    } else continue;
    delete item[member];
  }
  return { item, lists, violations, warnings };
}
