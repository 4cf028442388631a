/**
 * Reads a declarative file's text and computes the difference from the previous text, as plain data that one process
 * can send to another.
 */
import {
  type Change,
  type ChangedItems,
  type Checked,
  collections,
  differingBuckets,
  divideText,
  type EndpointLists,
  type EndpointSection,
  type HashTree,
  hashOfId,
  hashTreeOf,
  type LoadedItems,
  type LoadedText,
  loadItems,
  loadText,
} from "@sluice/model";
import { type EntityReference, wantedKey } from "./find-edit.ts";

/** A loaded text without the positions of its nodes, which use more memory than all other members. */
export type LoadedData = Omit<LoadedText, "positionOf">;

export interface ReadRequest {
  readonly text: string;
  /** The file name in errors. */
  readonly file: string;
  /** Hashes of the served snapshot; null: unknown, so the whole content is returned. */
  readonly before: HashTree | null;
  /** Whether the result must also contain the parsed document. */
  readonly withData: boolean;
}

/** Some items of a text, to be read without the other items. */
export interface EditRequest {
  readonly items: ChangedItems;
  /** Ids of the requested entities in other items, by `wantedKey`; null: no such entity. */
  readonly known: Readonly<Record<string, string | null>>;
}

/** The references whose ids the next request must contain, or the entities of the items. */
export type EditReading = { readonly wanted: readonly EntityReference[] } | { readonly entities: LoadedItems };

export interface FileReading {
  /** The content of the buckets that differ from `before`. */
  readonly put: Change["put"];
  readonly addresses: { readonly [Name in EndpointSection]: Readonly<Record<string, EndpointLists[Name]>> };
  /** The buckets that differ; null: all. */
  readonly places: ReadonlySet<number> | null;
  /** Hashes of the snapshot. Passed to the next request as `before`. */
  readonly hashes: HashTree;
  /** Whether the text can be divided into items, so that edited items can be read without the other items. */
  readonly isDivided: boolean;
  readonly kept: Omit<LoadedData, "snapshot"> | null;
  readonly warnings: LoadedData["warnings"];
}

export function readFileText({ text, file, before, withData }: ReadRequest): Checked<FileReading> {
  const { value, violations } = loadText(text, { file });
  if (violations) return { violations };
  const { snapshot, positionOf: _, ...data } = value;
  const hashes = hashTreeOf(snapshot);
  const places = before && differingBuckets(hashes, before);
  const entriesAt = <Value>(map: ReadonlyMap<string, Value>) =>
    [...map].filter(([id]) => places?.has(hashOfId(id)) ?? true);
  const put = Object.fromEntries(
    collections.map((name) => [name, entriesAt<object>(snapshot[name]).map(([, entity]) => entity)]),
  ) as Change["put"];
  const addresses = {
    endpoints: Object.fromEntries(entriesAt(snapshot.endpoints)),
    upstream_endpoints: Object.fromEntries(entriesAt(snapshot.upstream_endpoints)),
  };
  return {
    value: {
      put,
      addresses,
      places,
      hashes,
      isDivided: divideText(text) !== null,
      kept: withData ? data : null,
      warnings: data.warnings,
    },
  };
}

/** Null when the items have errors: reading the whole text reports them. */
export function readFileEdit({ items, known }: EditRequest): EditReading | null {
  const wanted: EntityReference[] = [];
  const entities = loadItems(items, (collection, idOrName) => {
    const answer = known[wantedKey({ collection, idOrName })];
    if (answer === undefined) wanted.push({ collection, idOrName });
    return answer ?? undefined;
  });
  if (wanted.length > 0) return { wanted };
  return entities && { entities };
}
