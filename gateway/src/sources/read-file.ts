/** From a declarative file's text to what differs from the text before, in plain data: a thread tells it another. */
import {
  type Change,
  type Checked,
  collections,
  digestOf,
  type LoadedText,
  loadText,
  type Snapshot,
} from "@sluice/model";

/** Without the places of everything in the text, which take more memory than all the rest. */
export type LoadedData = Omit<LoadedText, "positionOf">;

export interface ReadRequest {
  readonly text: string;
  /** Named in faults. */
  readonly file: string;
  /** What the reading before said of its entities; null: there is none, and all that there is counts as new. */
  readonly before: string | null;
  /** Whether the data that stands in the text is wanted too. */
  readonly keep: boolean;
}

export interface Reading {
  /** From what `before` stands for. */
  readonly change: Change;
  /** Of the snapshot. */
  readonly hash: string;
  /** For the request after this one: the digests of all entities, as JSON. */
  readonly digests: string;
  readonly kept: Omit<LoadedData, "snapshot"> | null;
  readonly warnings: LoadedData["warnings"];
}

const sections = [...collections, "endpoints"] as const;
type Section = (typeof sections)[number];

/** By section, then by id. */
type Digests = Partial<Record<Section, Readonly<Record<string, string>>>>;

export function readFileText({ text, file, before, keep }: ReadRequest): Checked<Reading> {
  const { value, violations } = loadText(text, { file });
  if (violations) return { violations };
  const { snapshot, positionOf: _, ...data } = value;
  const digests = digestsOf(snapshot);
  const change = changeFrom(before === null ? {} : (JSON.parse(before) as Digests), { snapshot, digests });
  return {
    value: {
      change,
      hash: snapshot.hash,
      digests: JSON.stringify(digests),
      kept: keep ? data : null,
      warnings: data.warnings,
    },
  };
}

const digestsOf = (snapshot: Snapshot): Digests =>
  Object.fromEntries(
    sections.map((section) => [
      section,
      Object.fromEntries([...snapshot[section]].map(([id, value]) => [id, digestOf(value)])),
    ]),
  );

interface Next {
  readonly snapshot: Snapshot;
  readonly digests: Digests;
}

function changeFrom(before: Digests, { snapshot, digests }: Next): Change {
  const put = (section: Section): readonly (readonly [string, object])[] =>
    [...snapshot[section]].filter(([id]) => before[section]?.[id] !== digests[section]?.[id]);
  const removed = (section: Section): readonly string[] =>
    Object.keys(before[section] ?? {}).filter((id) => digests[section]?.[id] === undefined);
  return {
    put: Object.fromEntries(collections.map((name) => [name, put(name).map(([, entity]) => entity)])),
    remove: Object.fromEntries(collections.map((name) => [name, removed(name)])),
    endpoints: Object.fromEntries([...removed("endpoints").map((id) => [id, null] as const), ...put("endpoints")]),
  } as Change;
}
