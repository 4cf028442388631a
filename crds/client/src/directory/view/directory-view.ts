/** All resources of a directory at one moment, built from its files and status records. Pure. */
import { BucketMap, byHash } from "@sluice/model";
import { seconds } from "../../conditions.ts";
import { refKey } from "../../keys.ts";
import { isSluiceKind } from "../../kinds.ts";
import type { Kind, Ref, Resource } from "../../resource.ts";
import type { CachedFile } from "../files/file-cache.ts";
import { contentHash, uidOf } from "./content.ts";
import type { FileProblem, ParsedFile, ParsedResource } from "./parse-resources.ts";
import type { StatusRecord } from "./status-record.ts";

/** A file's last valid content, and its present faults. */
export interface FileContent {
  readonly good: ParsedFile;
  /** The file's timestamps when it was last valid. */
  readonly goodAt?: { readonly changedAt: number; readonly bornAt: number };
  readonly faults: readonly FileProblem[];
  readonly broken: boolean;
}

export interface SourceFile {
  /** Relative to the directory. */
  readonly path: string;
  readonly file: CachedFile<FileContent>;
}

export interface ViewEntry {
  readonly kind: Kind;
  readonly resource: Resource;
  readonly placed: ParsedResource;
  readonly source: SourceFile;
  readonly record: CachedFile<StatusRecord | null> | undefined;
}

export interface DirectoryView {
  /** By `refKey`. */
  readonly entries: BucketMap<ViewEntry>;
  /** Sentences that begin with `file:line:column:`. */
  readonly problems: readonly string[];
  /** Increases from view to view. */
  readonly version: number;
  /** Keys that may differ between the last versions, the newest last. Empty for a view without predecessor. */
  readonly steps: readonly ViewChange[];
}

interface ViewChange {
  /** The previous version. */
  readonly from: number;
  readonly keys: ReadonlySet<string>;
}

/** A subscriber that is behind by more steps compares the whole view. */
const MANY_STEPS = 32;

/** Keys that may differ from the view of an earlier version; undefined: unknown. */
export function changedSince({ version, steps }: DirectoryView, earlier: number): Iterable<string> | undefined {
  if (earlier === version) return [];
  const index = steps.findIndex(({ from }) => from === earlier);
  return index < 0 ? undefined : new Set(steps.slice(index).flatMap(({ keys }) => [...keys]));
}

export function refOf(placed: ParsedResource): Ref {
  return { kind: placed.kind, namespace: placed.content.metadata.namespace, name: placed.content.metadata.name };
}

/** `sources` is sorted by path: of several definitions of one resource, the first counts. */
export function buildView(
  sources: readonly SourceFile[],
  records: ReadonlyMap<string, CachedFile<StatusRecord | null>>,
  previous: DirectoryView | undefined,
): DirectoryView {
  const held = new Map<string, ViewEntry>();
  const problems: string[] = [];
  for (const source of sources) {
    const { good, faults } = source.file.value;
    for (const { line, column, message } of faults) problems.push(`${source.path}:${line}:${column}: ${message}`);
    for (const placed of good.resources) {
      const ref = refOf(placed);
      const key = refKey(ref);
      const first = held.get(key);
      if (first) {
        const { line, column } = placed.position;
        problems.push(
          `${source.path}:${line}:${column}: ${key} stands in ${first.source.path}:${first.placed.position.line} too; that one counts, this one is ignored`,
        );
        continue;
      }
      held.set(key, entryOf({ placed, source, record: records.get(key) }, previous?.entries.get(key)));
    }
  }
  return { entries: BucketMap.of(held, byHash), problems, version: (previous?.version ?? 0) + 1, steps: [] };
}

export interface FileChange {
  readonly path: string;
  readonly before: SourceFile | undefined;
  readonly after: SourceFile | undefined;
}

/**
 * The result of `buildView`, in another order, at a cost proportional to the changes. Undefined when all files must be
 * considered: when there are problems, or one resource is defined twice.
 *
 * @param changes Files that differ from those of the previous view, or whose records do.
 */
export function changeView(
  before: DirectoryView,
  changes: readonly FileChange[],
  records: ReadonlyMap<string, CachedFile<StatusRecord | null>>,
): DirectoryView | undefined {
  if (before.problems.length > 0 || changes.some(({ after }) => after && after.file.value.faults.length > 0))
    return undefined;
  const changed = new Map<string, ViewEntry | undefined>();
  for (const { path, before: source } of changes) {
    for (const placed of source?.file.value.good.resources ?? []) {
      const key = refKey(refOf(placed));
      if (changed.has(key) || before.entries.get(key)?.source.path !== path) return undefined;
      changed.set(key, undefined);
    }
  }
  for (const { after: source } of changes) {
    if (!source) continue;
    for (const placed of source.file.value.good.resources) {
      const key = refKey(refOf(placed));
      const earlier = before.entries.get(key);
      if (changed.has(key) ? changed.get(key) : earlier) return undefined;
      changed.set(key, entryOf({ placed, source, record: records.get(key) }, earlier));
    }
  }
  const { version, steps } = before;
  const keys = new Set(changed.keys());
  return {
    entries: before.entries.with(changed),
    problems: [],
    version: version + 1,
    steps: [...steps.slice(1 - MANY_STEPS), { from: version, keys }],
  };
}

function entryOf(
  { placed, source, record }: Pick<ViewEntry, "placed" | "source" | "record">,
  before: ViewEntry | undefined,
): ViewEntry {
  if (before && before.source.file === source.file && before.record === record && before.placed === placed)
    return before;
  return { kind: placed.kind, resource: toResource(placed, source, record), placed, source, record };
}

/** The generation changes with this hash. */
export function specHash(resource: Resource): string {
  return contentHash(resource.spec ?? {});
}

function toResource(placed: ParsedResource, { file }: SourceFile, record: ViewEntry["record"]): Resource {
  const { content, kind } = placed;
  const known = record?.value ?? undefined;
  const { changedAt, bornAt } = file.value.goodAt ?? file;
  const generation = isSluiceKind(kind) ? generationOf(content, known, changedAt) : undefined;
  const created = known?.created ?? seconds(new Date(bornAt));
  const status = known?.conditions ? { conditions: known.conditions } : undefined;
  return {
    ...content,
    metadata: {
      ...content.metadata,
      uid: uidOf(refOf(placed)),
      resourceVersion: contentHash([content, generation ?? null, status ?? null]),
      ...(generation === undefined ? {} : { generation }),
      creationTimestamp: created,
    },
    ...(status ? { status } : {}),
  };
}

/**
 * The file's change time in milliseconds, unless the record has a generation for this very spec. All processes thus
 * agree without communication, and once a status was written a change elsewhere in the file does not affect it.
 */
function generationOf(content: Resource, record: StatusRecord | undefined, changedAt: number): number {
  const changed = Math.floor(changedAt);
  if (record?.generation === undefined) return changed;
  return record.spec === specHash(content) ? record.generation : Math.max(changed, record.generation + 1);
}
