/** Items of a text that were added or changed, read and checked without the others. */
import { checkEntity } from "../check/index.ts";
import { type Collection, collections } from "../entities/index.ts";
import { type PerCollection, perCollection } from "../entities/per-collection.ts";
import { isRecord } from "../schema/walk.ts";
import { type StoredEntity, toStoredEntity } from "../snapshot/stored-entity.ts";
import { type FlatDocument, flattenDocument, type KnownId } from "./flatten.ts";
import { readItems, readWithoutWarnings } from "./yaml.ts";

export interface ChangedItems {
  /** The lines that belong to no item, as `divideText` found them. */
  readonly head: string;
  /** The lines of the items, by the list that they stand in. */
  readonly items: Partial<Record<Collection, string>>;
}

export interface LoadedItems {
  readonly put: PerCollection<readonly StoredEntity[]>;
  /** Where the entities stood: list and index among these items. */
  readonly origins: FlatDocument["origins"];
}

/** Null when the items have faults: reading the whole text finds which. */
export function loadItems({ head, items }: ChangedItems, known: KnownId): LoadedItems | null {
  const headData = readWithoutWarnings(head);
  if (!isRecord(headData)) return null;
  const data: Record<string, unknown> = { ...headData };
  for (const [collection, lines] of Object.entries(items)) {
    data[collection] = readItems(lines);
    if (data[collection] === undefined) return null;
  }
  const { document, origins, violations, warnings } = flattenDocument(data, known);
  if (violations.length > 0 || warnings.length > 0) return null;
  const put = perCollection((collection) =>
    (document[collection] ?? []).flatMap((raw) => {
      const { value } = checkEntity(collection, raw);
      return value === undefined ? [] : [toStoredEntity(collection, value)];
    }),
  );
  const isWhole = collections.every((collection) => put[collection].length === (document[collection] ?? []).length);
  return isWhole && !hasTwins(put) ? { put, origins } : null;
}

/** Whether two entities have one id. */
const hasTwins = (put: PerCollection<readonly StoredEntity[]>): boolean =>
  collections.some((collection) => new Set(put[collection].map(({ id }) => id)).size < put[collection].length);
