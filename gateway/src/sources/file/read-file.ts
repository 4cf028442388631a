/**
 * Reads a declarative file's text and computes the difference from the previous text, as plain data that one process
 * can send to another.
 */
import {
  type BucketHashes,
  byId,
  type Change,
  type Checked,
  type Collection,
  collections,
  divideText,
  type FlatDocument,
  hashesOf,
  type LoadedItems,
  type LoadedText,
  loadItems,
  loadText,
  type Snapshot,
} from "@sluice/model";
import { type EntityId, EntityIds, idKey, type PackedIds } from "./entity-ids.ts";
import { countItems, type EditedItems } from "./find-edit.ts";

/** Without the position of each node of the text; positions use more memory than all the rest. */
export type LoadedData = Omit<LoadedText, "positionOf">;

export interface ReadRequest {
  readonly text: string;
  /** Named in errors. */
  readonly file: string;
  /** Hashes of the served snapshot; null: unknown, so the whole content is returned. */
  readonly before: BucketHashes | null;
  /** Whether the parsed document is wanted too. */
  readonly withData: boolean;
}

/** Some items of a text, to be read without the others. */
export interface EditRequest extends Pick<EditedItems, "added" | "changed"> {
  /** Ids of entities in other items, by `idKey`, as far as they were requested; null: the entity does not exist. */
  readonly known: Readonly<Record<string, string | null>>;
}

export interface EditReading {
  /** The entities of each item. */
  readonly ids: PackedIds;
  readonly put: LoadedItems["put"];
}

/** References to entities in other items: collections, and ids or names. */
export interface MissingReferences {
  readonly wanted: readonly EntityId[];
}

export interface FileReading {
  /** The content of the buckets that differ from `before`. */
  readonly put: Change["put"];
  readonly endpoints: Readonly<
    Record<string, Snapshot["endpoints"] extends ReadonlyMap<string, infer List> ? List : never>
  >;
  /** The buckets that differ; null: all. */
  readonly places: ReadonlySet<number> | null;
  /** Hash of the snapshot. */
  readonly hash: string;
  /** Passed to the next request as `before`. */
  readonly hashes: BucketHashes;
  /** Null when the text is not divided into items. */
  readonly ids: PackedIds | null;
  readonly kept: Omit<LoadedData, "snapshot"> | null;
  readonly warnings: LoadedData["warnings"];
}

export function readFileText({ text, file, before, withData }: ReadRequest): Checked<FileReading> {
  const { value, violations } = loadText(text, { file });
  if (violations) return { violations };
  const { snapshot, positionOf: _, ...data } = value;
  const hashes = hashesOf(snapshot);
  const places =
    before === null ? null : new Set(hashes.flatMap((hash, place) => (hash === before[place] ? [] : [place])));
  const told = <Value>(map: ReadonlyMap<string, Value>) => [...map].filter(([id]) => places?.has(byId(id)) ?? true);
  const put = Object.fromEntries(
    collections.map((name) => [name, told<object>(snapshot[name]).map(([, entity]) => entity)]),
  ) as Change["put"];
  const endpoints = Object.fromEntries(told(snapshot.endpoints));
  const ids = idsOfItems(text, data);
  return {
    value: {
      put,
      endpoints,
      places,
      hash: snapshot.hash,
      hashes,
      ids,
      kept: withData ? data : null,
      warnings: data.warnings,
    },
  };
}

/** Null when the items have errors: reading the whole text reports them. */
export function readFileEdit({ added, changed, known }: EditRequest): EditReading | MissingReferences | null {
  const wanted: EntityId[] = [];
  const loaded = loadItems(changed, (collection, id) => {
    const answer = known[idKey({ collection, id })];
    if (answer === undefined) wanted.push({ collection, id });
    return answer ?? undefined;
  });
  if (wanted.length > 0) return { wanted };
  if (loaded === null) return null;
  const { put, origins } = loaded;
  return { put, ids: idsByItem(added, origins, (name) => put[name].map(({ id }) => id)) };
}

/** The entities of each item of a text; null when it cannot be divided into items. */
function idsOfItems(text: string, { document, origins }: Pick<LoadedText, "document" | "origins">): PackedIds | null {
  const divided = divideText(text);
  const idOf = (entity: unknown) => (entity as { readonly id: string }).id.toLowerCase();
  return divided && idsByItem(countItems(divided), origins, (name) => (document[name] ?? []).map(idOf));
}

/** An entity's origin begins with the list and index of its item. */
function idsByItem(
  lists: EditedItems["added"],
  origins: FlatDocument["origins"],
  idsOf: (collection: Collection) => readonly string[],
): PackedIds {
  const begins = new Map<string | number | undefined, number>();
  let length = 0;
  for (const { collection, count } of lists) {
    begins.set(collection, length);
    length += count;
  }
  const held: EntityId[][] = Array.from({ length }, () => []);
  for (const collection of collections) {
    for (const [index, id] of idsOf(collection).entries()) {
      const [list, item] = origins[collection][index] ?? [];
      held[(begins.get(list) ?? 0) + Number(item)]?.push({ collection, id });
    }
  }
  return EntityIds.of(held);
}
