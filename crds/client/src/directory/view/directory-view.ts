/** All resources of a directory at one moment, from its files and status records. Pure. */
import { isDeepStrictEqual } from "node:util";
import { BucketMap, hashOfText } from "@sluice/model";
import { formatMetaTime } from "../../conditions.ts";
import { refKey } from "../../keys.ts";
import { isSluiceKind } from "../../kinds.ts";
import type { Kind, Ref, Resource } from "../../resource.ts";
import type { CachedFile } from "../files/file-cache.ts";
import { contentHash, uidOf } from "./content.ts";
import type { ParsedFile, ParsedResource } from "./parse-resources.ts";
import type { StatusRecord } from "./status-record.ts";

/**
 * A file's last valid resources, and its current faults. If the file is broken, the resources come from its earlier
 * text.
 */
export interface FileContent extends ParsedFile {
  /** The timestamps of the earlier text. */
  readonly goodAt?: { readonly changedAt: number; readonly bornAt: number };
}

export interface SourceFile {
  /** Relative to the directory. */
  readonly path: string;
  readonly file: CachedFile<FileContent>;
  /** The status records of the file's resources, in their order. */
  readonly records: readonly (CachedFile<StatusRecord | null> | undefined)[];
}

/** A resource in a file; several files may define the same resource. */
interface Definition {
  readonly placed: ParsedResource;
  readonly source: SourceFile;
  readonly record: CachedFile<StatusRecord | null> | undefined;
}

export interface ViewEntry extends Definition {
  readonly kind: Kind;
  readonly resource: Resource;
}

export interface DirectoryView {
  /** By `refKey`. */
  readonly entries: BucketMap<ViewEntry>;
  /** Sentences that begin with `file:line:column:`, sorted. */
  readonly problems: readonly string[];
}

export function refOf(placed: ParsedResource): Ref {
  return { kind: placed.kind, namespace: placed.content.metadata.namespace, name: placed.content.metadata.name };
}

const keyOf = (placed: ParsedResource): string => refKey(refOf(placed));

/** Compares by path and by the position in the file. */
export const compareByPosition = (one: Definition, other: Definition): number =>
  one.source.path === other.source.path
    ? one.placed.document - other.placed.document
    : one.source.path < other.source.path
      ? -1
      : 1;

/**
 * The files of a directory and the view that follows from them. After a change, only the resources of the changed files
 * are derived again.
 */
export class DirectoryIndex {
  readonly #sources = new Map<string, SourceFile>();
  /** By `refKey`; of several definitions of one resource, the first is used. */
  readonly #definitions = new Map<string, readonly Definition[]>();
  #view: DirectoryView = { entries: new BucketMap(hashOfText), problems: [] };

  paths(): Iterable<string> {
    return this.#sources.keys();
  }

  /** Whether the view contains the file in this state. */
  isCurrent(path: string, source: SourceFile | undefined): boolean {
    return isSame(this.#sources.get(path), source);
  }

  /**
   * The view after changes of files; the same object when they change nothing.
   *
   * @param changes Files by path; undefined: the file is gone.
   */
  update(changes: Iterable<readonly [string, SourceFile | undefined]>): DirectoryView {
    const keys = new Set<string>();
    let differs = false;
    for (const [path, source] of changes) {
      const before = this.#sources.get(path);
      if (this.isCurrent(path, source)) continue;
      differs = true;
      if (source) this.#sources.set(path, source);
      else this.#sources.delete(path);
      for (const key of this.#remove(before)) keys.add(key);
      for (const key of this.#add(source)) keys.add(key);
    }
    if (!differs) return this.#view;
    const { entries: known, problems: knownProblems } = this.#view;
    const entries = known.with([...keys].map((key) => [key, entryOf(this.#definitions.get(key)?.[0], known.get(key))]));
    const problems = this.#problems();
    if (entries !== known || !isDeepStrictEqual(problems, knownProblems)) this.#view = { entries, problems };
    return this.#view;
  }

  #remove(source: SourceFile | undefined): readonly string[] {
    const keys = source?.file.value.resources.map(keyOf) ?? [];
    for (const key of keys) {
      const others = this.#definitions.get(key)?.filter((one) => one.source !== source) ?? [];
      if (others.length > 0) this.#definitions.set(key, others);
      else this.#definitions.delete(key);
    }
    return keys;
  }

  #add(source: SourceFile | undefined): readonly string[] {
    return (source?.file.value.resources ?? []).map((placed, index) => {
      const key = keyOf(placed);
      const definition: Definition = { placed, source: source as SourceFile, record: source?.records[index] };
      this.#definitions.set(key, [...(this.#definitions.get(key) ?? []), definition].sort(compareByPosition));
      return key;
    });
  }

  #problems(): readonly string[] {
    const problems: string[] = [];
    for (const { path, file } of this.#sources.values())
      for (const { line, column, message } of file.value.faults) problems.push(`${path}:${line}:${column}: ${message}`);
    for (const [key, definitions] of this.#definitions) {
      const [first, ...others] = definitions.length > 1 ? definitions : [];
      for (const { source, placed } of others) {
        const { line, column } = placed.position;
        const used = `${key} is also defined in ${first?.source.path}:${first?.placed.position.line}`;
        problems.push(`${source.path}:${line}:${column}: ${used}; that definition is used, and this one is ignored`);
      }
    }
    return problems.sort();
  }
}

/** Compares by identity: an unchanged file is the same cached object. */
const isSame = (one: SourceFile | undefined, other: SourceFile | undefined): boolean =>
  one?.file === other?.file && (one?.records ?? []).every((record, index) => record === other?.records[index]);

function entryOf(definition: Definition | undefined, before: ViewEntry | undefined): ViewEntry | undefined {
  if (!definition) return undefined;
  const { placed, source, record } = definition;
  if (before && before.source.file === source.file && before.record === record && before.placed === placed)
    return before;
  return { kind: placed.kind, resource: toResource(definition), placed, source, record };
}

/** Hash of the spec; the generation changes with it. */
export function specHash(resource: Resource): string {
  return contentHash(resource.spec ?? {});
}

function toResource({ placed, source: { file }, record }: Definition): Resource {
  const { content, kind } = placed;
  const known = record?.value ?? undefined;
  const { changedAt, bornAt } = file.value.goodAt ?? file;
  const generation = isSluiceKind(kind) ? generationOf(content, known, changedAt) : undefined;
  const created = known?.created ?? formatMetaTime(new Date(bornAt));
  const status = known?.status ?? (known?.conditions ? { conditions: known.conditions } : undefined);
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
 * The file's change time in milliseconds, unless the record has a generation for this spec. The result is always higher
 * than the recorded generation of a different spec. All processes thus agree without communication, and once a status
 * has been written, a change elsewhere in the file does not affect the generation.
 */
function generationOf(content: Resource, record: StatusRecord | undefined, changedAt: number): number {
  const changed = Math.floor(changedAt);
  if (record?.generation === undefined) return changed;
  return record.spec === specHash(content) ? record.generation : Math.max(changed, record.generation + 1);
}
