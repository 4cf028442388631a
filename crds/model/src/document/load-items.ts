/** Parses and validates the added or changed items of a text without reading the others. */
import { checkEntity } from "../check/index.ts";
import { type Collection, collections, type PerCollection, perCollection } from "../entities/index.ts";
import { isRecord } from "../schema/node.ts";
import { type StoredEntity, toStoredEntity } from "../snapshot/stored-entity.ts";
import { flattenDocument, type KnownId } from "./flatten/flatten.ts";
import { readItems, readWithoutWarnings } from "./parse/yaml.ts";

export interface ChangedItems {
  /** The lines outside of all items, from `divideText`. */
  readonly head: string;
  /** The items' lines by list. */
  readonly items: Partial<Record<Collection, string>>;
}

export type LoadedItems = PerCollection<readonly StoredEntity[]>;

/** Null when the items have violations: reading the whole text reports them. */
export function loadItems({ head, items }: ChangedItems, known: KnownId): LoadedItems | null {
  const headData = readWithoutWarnings(head);
  if (!isRecord(headData)) return null;
  const data: Record<string, unknown> = { ...headData };
  for (const [collection, lines] of Object.entries(items)) {
    data[collection] = readItems(lines);
    if (data[collection] === undefined) return null;
  }
  const { document, violations, warnings } = flattenDocument(data, known);
  if (violations.length > 0 || warnings.length > 0) return null;
  const put = perCollection((collection) =>
    (document[collection] ?? []).flatMap((raw) => {
      const { value } = checkEntity(collection, raw);
      return value === undefined ? [] : [toStoredEntity(collection, value)];
    }),
  );
  const isWhole = collections.every((collection) => put[collection].length === (document[collection] ?? []).length);
  return isWhole && !hasTwins(put) ? put : null;
}

/** Whether two entities have the same id. */
const hasTwins = (put: LoadedItems): boolean =>
  collections.some((collection) => new Set(put[collection].map(({ id }) => id)).size < put[collection].length);
