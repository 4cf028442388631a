/**
 * The part of a document of Kong that Sluice can serve. Entities and members that Sluice lacks are left out, and are
 * reported. Leaving out a plugin that may protect requests would open routes, so such a plugin is kept and answers 503
 * (`_sluice.unavailable`). A route whose requests Kong may refuse is not left out either, because other routes would
 * receive these requests. The route is kept, with an added plugin that answers 503.
 */
import { type Checked, isRecord, type Violation } from "@sluice/plugin-sdk";
import type { Document } from "../../document.ts";
import { collections, type PerCollection, perCollection } from "../../entities/index.ts";
import { flattenDocument } from "../flatten/flatten.ts";
import { GROUP_PLUGINS } from "../flatten/top-level.ts";
import { addPositions } from "../load.ts";
import { readYaml } from "../parse/yaml.ts";
import { type DocumentItem, Reduction, type Unserved } from "./reduction.ts";

export type { Unserved };

export interface ServablePart {
  /** Valid and flat. */
  readonly document: Document;
  readonly unserved: readonly Unserved[];
  /** Members that have no effect. */
  readonly warnings: readonly Violation[];
  /** The number of entities in the document of Kong. */
  readonly given: number;
  /** The number of entities that are served unchanged, by collection. */
  readonly served: PerCollection<number>;
}

export interface ServableText extends ServablePart {
  /** The members at the top level of the text. */
  readonly data: Readonly<Record<string, unknown>>;
}

/** The servable part of a text, with positions. Returns violations if the text is not a document in YAML or JSON. */
export function servablePartOfText(text: string, file: string): Checked<ServableText> {
  const read = readYaml(text, { file });
  if (read.violations !== undefined) return read;
  const { data, warnings } = read.value;
  if (!isRecord(data) || data._format_version === undefined) {
    const message = "expected a document: a record with _format_version";
    return { violations: addPositions([{ path: [], message }], read.value) };
  }
  const part = servablePart(data);
  const place = (one: Unserved) => ({
    ...one,
    violation: addPositions([one.violation], read.value)[0] ?? one.violation,
  });
  const lineOf = ({ violation: { position } }: Unserved) => position?.line ?? 0;
  const unserved = part.unserved.map(place).sort((one, other) => lineOf(one) - lineOf(other));
  return { value: { ...part, data, unserved, warnings: addPositions([...warnings, ...part.warnings], read.value) } };
}

/**
 * The servable part of a document, without positions.
 *
 * @param data The document as plain data, in nested or flat form.
 */
export function servablePart(data: unknown): ServablePart {
  const flat = flattenDocument(data);
  const items = collections.flatMap((collection) =>
    (flat.document[collection] ?? []).map(
      (members, index): DocumentItem => ({
        collection,
        origin: flat.origins[collection][index] ?? [],
        members: members as DocumentItem["members"],
        closed: false,
        reduced: false,
      }),
    ),
  );
  const given = items.length;
  const part = new Reduction(items);
  // Flattening converted the entries of `consumer_group_plugins` to plugins, which are among the items.
  const isConverted = ({ path }: Violation) => path.at(-1) === GROUP_PLUGINS && Array.isArray(valueAt(data, path));
  part.takeDocumentFaults(flat.violations.filter((violation) => !isConverted(violation)));
  const document = part.reduce();
  const isServed = ({ closed, reduced, origin }: DocumentItem) => !closed && !reduced && origin.length > 0;
  const byCollection = Map.groupBy(part.items.filter(isServed), ({ collection }) => collection);
  const served = perCollection((name) => byCollection.get(name)?.length ?? 0);
  return { document, unserved: part.unserved, warnings: flat.warnings, given, served };
}

const valueAt = (data: unknown, path: Violation["path"]): unknown =>
  path.reduce(
    (value: unknown, step) => (typeof value === "object" && value !== null ? Object(value)[step] : undefined),
    data,
  );
