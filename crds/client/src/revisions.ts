/**
 * Revisions of custom resources: which resources changed, and their content before and after the change. The operator
 * records them, the admin listener reads them.
 */
import { setImmediate as nextTurn } from "node:timers/promises";
import { promisify } from "node:util";
import { gunzip, gzip } from "node:zlib";
import { DEFAULT_CLASS } from "@sluice/model";
import { BATCH, BATCH_COMPLETE, BATCH_REMOVE, BATCH_UNDO } from "./batch.ts";
import type { Resource, SluiceKind } from "./resource.ts";

export interface RevisionSummary {
  /** Ascending, with gaps. */
  readonly number: number;
  /** Unix time in milliseconds. */
  readonly time: number;
  readonly author: string;
  /** The numbers of created, changed and deleted resources. Null: the changes are unknown or too large. */
  readonly counts: { readonly created: number; readonly changed: number; readonly deleted: number } | null;
  /** Digest of all resources of the class after the revision. */
  readonly state: string;
}

export interface RecordedChange {
  readonly kind: SluiceKind;
  readonly namespace: string;
  readonly name: string;
  /** Null: the resource did not exist. */
  readonly before: Resource | null;
  /** Null: the resource no longer exists. */
  readonly after: Resource | null;
}

/** Where revisions are kept, beside the operator's state. Implementations: cluster and directory. */
export interface RevisionStorage {
  /** All revisions, oldest first. */
  list(): Promise<readonly RevisionSummary[]>;
  /** The content given to `add`; null: there is no revision with this number. */
  content(number: number): Promise<Buffer | null>;
  /** False: there is a revision with this number already. */
  add(revision: RevisionSummary, content: Buffer): Promise<boolean>;
  /** Does nothing if there is no revision with this number. */
  remove(number: number): Promise<void>;
  close(): Promise<void>;
}

/** Maximum bytes of a content: an object with it in base64, and with metadata, stays below etcd's limit of 1.5 MB. */
export const MAX_CONTENT_BYTES = 512 * 1024;

/** Number of changes that are encoded in one turn of the event loop. */
const CHANGES_PER_TURN = 200;

/** Maximum length of the changes of one revision as JSON. */
const MAX_CHANGES_BYTES = 64 * 1024 * 1024;

/** The name under which the revisions of a class are kept. */
export const revisionsName = (className: string): string =>
  className === DEFAULT_CLASS ? "sluice-revisions" : `sluice-revisions-${className}`;

/** Null: the changes are too large to be kept. */
export async function encodeChanges(changes: readonly RecordedChange[]): Promise<Buffer | null> {
  const texts: string[] = [];
  let length = 0;
  for (const [index, { before, after, ...resource }] of changes.entries()) {
    // The event loop has other work, such as pushes.
    if (index % CHANGES_PER_TURN === CHANGES_PER_TURN - 1) await nextTurn();
    const recorded = { ...resource, before: before && recordedMembers(before), after: after && recordedMembers(after) };
    const text = JSON.stringify(recorded);
    length += text.length;
    if (length > MAX_CHANGES_BYTES) return null;
    texts.push(text);
  }
  const text = `[${texts.join(",")}]`;
  const content = await promisify(gzip)(text);
  return content.length <= MAX_CONTENT_BYTES ? content : null;
}

/** @throws Error when the content is damaged. */
export async function decodeChanges(content: Buffer): Promise<readonly RecordedChange[]> {
  const text = await promisify(gunzip)(content, { maxOutputLength: 4 * MAX_CHANGES_BYTES });
  return JSON.parse(text.toString("utf8")) as readonly RecordedChange[];
}

const PREFIX = "sluice.dev/";
const marks: readonly string[] = [BATCH, BATCH_REMOVE, BATCH_COMPLETE, BATCH_UNDO];

/** The members on which the entities of a resource depend. Marks of batches are left out: they last only seconds. */
export function recordedMembers({ apiVersion, kind, metadata, spec }: Resource): Resource {
  const { name, namespace, creationTimestamp } = metadata;
  const annotations = Object.fromEntries(
    Object.entries(metadata.annotations ?? {}).filter(([key]) => key.startsWith(PREFIX) && !marks.includes(key)),
  );
  const own = { name, namespace, ...(creationTimestamp && { creationTimestamp }), annotations };
  return { apiVersion, kind, metadata: own, ...(spec && { spec }) };
}

const isCount = (value: unknown): boolean => Number.isSafeInteger(value) && Number(value) >= 0;

/** Undefined: the text is not a summary. */
export function parseSummary(text: string | undefined): RevisionSummary | undefined {
  try {
    const { number, time, author, counts, state } = Object(JSON.parse(text ?? "null")) as Partial<RevisionSummary>;
    const isSummary =
      isCount(number) &&
      isCount(time) &&
      typeof author === "string" &&
      typeof state === "string" &&
      (counts === null || [counts?.created, counts?.changed, counts?.deleted].every(isCount));
    return isSummary ? ({ number, time, author, counts, state } as RevisionSummary) : undefined;
  } catch {
    return undefined;
  }
}
