/** Loads a declarative file: from text to a validated value, with line and column for every violation. */

import { type Checked, isRecord, type Violation } from "@sluice/plugin-sdk";
import { checkEntity } from "../check/index.ts";
import type { Document } from "../document.ts";
import { type Collection, collections, entities, type PerCollection, perCollection } from "../entities/index.ts";
import { applyDocument } from "../snapshot/apply.ts";
import { emptySnapshot } from "../snapshot/make-snapshot.ts";
import { type StoredEntity, toStoredEntity } from "../snapshot/stored-entity.ts";
import type { Snapshot } from "../snapshot.ts";
import { type FlatDocument, flattenDocument, type KnownId } from "./flatten/flatten.ts";
import { type LocatedData, readItems, readWithoutWarnings, readYaml } from "./parse/yaml.ts";

export interface LoadOptions {
  /** The file name that positions of violations contain. */
  readonly file?: string;
  /** The snapshot that the text replaces: unchanged entities are shared with it. Default: the empty snapshot. */
  readonly previous?: Snapshot;
  /** Whether the document is for a database: rate-limiting may then have policy `cluster`. Default false. */
  readonly database?: boolean;
}

/** A valid document: flat, with references resolved to ids, and its snapshot. */
export interface LoadedDocument {
  readonly document: Document;
  /**
   * The original path of each item of the flat document, by collection and index. The path of a route may be
   * `["services", 0, "routes", 1]`.
   */
  readonly origins: FlatDocument["origins"];
  readonly snapshot: Snapshot;
  /** Input that may not have the intended effect: duplicate keys, ignored members. */
  readonly warnings: readonly Violation[];
}

/** A loaded document with the text's plain data. */
export interface LoadedText extends LoadedDocument {
  readonly data: Readonly<Record<string, unknown>>;
  /** Returns the position of a path in the text. As long as this function is referenced, the text stays in memory. */
  readonly positionOf: LocatedData["positionOf"];
}

/** Loads YAML or JSON text in nested or flat form, and in any format (1.1, 2.1, 3.0). */
export function loadText(text: string, options: LoadOptions = {}): Checked<LoadedText> {
  const read = readYaml(text, options);
  if (read.violations !== undefined) return read;
  const { data, positionOf } = read.value;
  const checked = checkDocument(data, options);
  if (checked.violations !== undefined) return { violations: addPositions(checked.violations, read.value) };
  const warnings = addPositions([...read.value.warnings, ...checked.value.warnings], read.value);
  return { value: { ...checked.value, warnings, data: isRecord(data) ? data : {}, positionOf } };
}

/** Validates plain data in any form, such as a request's JSON. Violations have paths in the data, and no positions. */
export function checkDocument(
  data: unknown,
  { previous = emptySnapshot, database = false }: Omit<LoadOptions, "file"> = {},
): Checked<LoadedDocument> {
  const flat = flattenDocument(data);
  const applied = applyDocument(previous, flat.document, { database });
  const found =
    applied.violations?.map((violation) => ({
      ...violation,
      path: originOf(violation.path, flat),
      message: messageOf(violation),
    })) ?? [];
  // An unresolved reference already has a violation; a second one for its derived id is left out.
  const reported = new Set(flat.violations.map(({ path }) => JSON.stringify(path)));
  const violations = [...flat.violations, ...found.filter(({ path }) => !reported.has(JSON.stringify(path)))];
  if (violations.length > 0 || applied.value === undefined) return { violations };
  const { document, origins, warnings } = flat;
  return { value: { document, origins, warnings, snapshot: applied.value } };
}

/**
 * The violation's message, with a hint if the violation is a missing member that Kong generates: a file must have such
 * a member, because each node would generate a different value.
 */
function messageOf({ path: [collection, , member], message }: Violation): string {
  const generated = entities[collection as Collection]?.credential?.generated ?? [];
  if (message !== "required field missing" || !generated.includes(String(member))) return message;
  return `${message}: write one, such as the output of 'openssl rand -hex 16'; Kong generates one that no client knows`;
}

/** Adds positions to violations, and sorts the violations by position. */
export function addPositions(violations: readonly Violation[], { positionOf }: LocatedData): readonly Violation[] {
  return violations
    .map((violation) => ({ ...violation, position: violation.position ?? positionOf(violation.path) }))
    .sort((a, b) => a.position.line - b.position.line || a.position.column - b.position.column);
}

/** Converts a path in the flat document to the path in the document as written. */
function originOf(path: Violation["path"], { origins }: FlatDocument): Violation["path"] {
  const [collection, index, ...rest] = path;
  const origin = typeof index === "number" ? origins[collection as Collection][index] : undefined;
  return origin === undefined ? path : [...origin, ...rest];
}

export interface ChangedItems {
  /** The lines outside of all items, from `divideText`. */
  readonly head: string;
  /** The lines of the added or changed items, by list. */
  readonly items: Partial<Record<Collection, string>>;
}

export type LoadedItems = PerCollection<readonly StoredEntity[]>;

/**
 * Parses and validates the added or changed items of a text without reading its other items. Null when the items or
 * the head have violations or warnings, or when items have equal ids: reading the whole text reports these.
 */
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
