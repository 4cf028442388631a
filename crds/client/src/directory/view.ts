/** All resources of a directory at one moment, from its files and the records beside them. Pure. */
import { seconds } from "../conditions.ts";
import { isOurs } from "../kinds.ts";
import type { Kind, Ref, Resource } from "../resource.ts";
import { hashOf, keyOf, uidOf } from "./content.ts";
import type { Read } from "./files.ts";
import type { FileFault, Parsed, Placed } from "./parse.ts";
import type { StatusRecord } from "./record.ts";

/** A file's last good content, and what is wrong with it now. */
export interface FileContent {
  readonly good: Parsed;
  /** Of the file's times when it was good. */
  readonly goodAt?: { readonly changedAt: number; readonly bornAt: number };
  readonly faults: readonly FileFault[];
  readonly broken: boolean;
}

export interface Source {
  /** Relative to the directory. */
  readonly path: string;
  readonly file: Read<FileContent>;
}

export interface Held {
  readonly kind: Kind;
  readonly resource: Resource;
  readonly placed: Placed;
  readonly source: Source;
  readonly record: Read<StatusRecord | null> | undefined;
}

export interface View {
  /** By `keyOf`. */
  readonly held: ReadonlyMap<string, Held>;
  /** Sentences that begin with `file:line:column:`. */
  readonly problems: readonly string[];
}

export function refOf(placed: Placed): Ref {
  return { kind: placed.kind, namespace: placed.content.metadata.namespace, name: placed.content.metadata.name };
}

/** `sources` sorted by path: of several places of one resource the first counts. */
export function buildView(
  sources: readonly Source[],
  records: ReadonlyMap<string, Read<StatusRecord | null>>,
  previous: View | undefined,
): View {
  const held = new Map<string, Held>();
  const problems: string[] = [];
  for (const source of sources) {
    const { good, faults } = source.file.value;
    for (const { line, column, message } of faults) problems.push(`${source.path}:${line}:${column}: ${message}`);
    for (const placed of good.resources) {
      const ref = refOf(placed);
      const key = keyOf(ref);
      const first = held.get(key);
      if (first) {
        const { line, column } = placed.position;
        problems.push(
          `${source.path}:${line}:${column}: ${key} stands in ${first.source.path}:${first.placed.position.line} too; that one counts, this one is ignored`,
        );
        continue;
      }
      const record = records.get(key);
      const before = previous?.held.get(key);
      const same = before && before.source.file === source.file && before.record === record && before.placed === placed;
      held.set(
        key,
        same ? before : { kind: placed.kind, resource: complete(placed, source, record), placed, source, record },
      );
    }
  }
  return { held, problems };
}

/** What makes the generation move. */
export function specHash(resource: Resource): string {
  return hashOf(resource.spec ?? {});
}

function complete(placed: Placed, { file }: Source, record: Held["record"]): Resource {
  const { content, kind } = placed;
  const known = record?.value ?? undefined;
  const { changedAt, bornAt } = file.value.goodAt ?? file;
  const generation = isOurs(kind) ? generationOf(content, known, changedAt) : undefined;
  const created = known?.created ?? seconds(new Date(bornAt));
  const status = known?.conditions ? { conditions: known.conditions } : undefined;
  return {
    ...content,
    metadata: {
      ...content.metadata,
      uid: uidOf(refOf(placed)),
      resourceVersion: hashOf([content, generation ?? null, status ?? null]),
      ...(generation === undefined ? {} : { generation }),
      creationTimestamp: created,
    },
    ...(status ? { status } : {}),
  };
}

/**
 * The time of the file's change in milliseconds, unless the record knows the generation of this very spec: so all
 * processes agree without talking, and a change elsewhere in the file moves nothing once a status was written.
 */
function generationOf(content: Resource, record: StatusRecord | undefined, changedAt: number): number {
  const changed = Math.floor(changedAt);
  if (record?.generation === undefined) return changed;
  return record.spec === specHash(content) ? record.generation : Math.max(changed, record.generation + 1);
}
