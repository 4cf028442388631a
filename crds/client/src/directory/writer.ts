/**
 * Writes to the files of a directory. Writes of resources run under one lock and return once they are on disk; writes
 * of status records run under another lock.
 */
import { existsSync, mkdirSync, rmSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { canonicalJson } from "@sluice/model";
import { mergeConditions, seconds } from "../conditions.ts";
import { refKey } from "../keys.ts";
import {
  type ApplyOptions,
  type Condition,
  Conflict,
  type Kind,
  type Ref,
  Rejected,
  type Resource,
} from "../resource.ts";
import type { DirectoryReader } from "./directory-reader.ts";
import { EditedConflict, removeAtomically, writeAtomically } from "./files/atomic.ts";
import { readTextIfExists } from "./files/file-cache.ts";
import { printResource, removeDocument, replaceDocument } from "./rewrite-document.ts";
import { applyContent, metadataProblem } from "./view/content.ts";
import { refOf, specHash, type ViewEntry } from "./view/directory-view.ts";
import { type ParsedFile, parseResources } from "./view/parse-resources.ts";
import { printRecord, recordPath, type StatusRecord } from "./view/status-record.ts";

export interface WriteContext {
  readonly directory: string;
  readonly folder: DirectoryReader;
  /** Runs under the lock of the records. */
  readonly withRecordLock: <Result>(run: () => Promise<Result>) => Promise<Result>;
}

interface ApplyRequest {
  readonly kind: Kind;
  readonly resource: Resource;
  readonly expect: ApplyOptions["expect"];
}

interface RemoveRequest {
  readonly ref: Ref;
  readonly uid: string | undefined;
}

export const applyResource = (place: WriteContext, application: ApplyRequest): Promise<Resource> =>
  retryOnEdit(() => applyOnce(place, application));

/**
 * Removes the resource from every file that defines it: otherwise the definition in the next file would take effect.
 */
export async function removeResource(place: WriteContext, removal: RemoveRequest): Promise<boolean> {
  let removed = false;
  while (await retryOnEdit(() => removeOnce(place, removal))) removed = true;
  if (removed) rmSync(recordPath(place.directory, removal.ref), { force: true });
  return removed;
}

const attempts = 8;
/** Milliseconds; all pauses together are longer than files take to settle. */
const PAUSE = 20;

/** Repeats the write, including all its checks, on the file's new content. */
async function retryOnEdit<Result>(write: () => Promise<Result>): Promise<Result> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await write();
    } catch (error) {
      if (!(error instanceof EditedConflict) || attempt === attempts) throw error;
      // An edit counts once the file has settled.
      await sleep(attempt * PAUSE);
    }
  }
}

async function applyOnce(place: WriteContext, { kind, resource, expect }: ApplyRequest): Promise<Resource> {
  const { directory, folder } = place;
  const fault = metadataProblem(kind, resource);
  if (fault) throw new Rejected(fault);
  const ref: Ref = { kind, namespace: resource.metadata.namespace, name: resource.metadata.name };
  const held = (await folder.findAfterRescan(ref)) ?? (await findUnseen(directory, { folder, ref }));
  checkExpectation(ref, held, expect);
  const content = applyContent(kind, held?.placed.content, resource);
  if (!held) {
    const path = freePath(directory, ref);
    makeFolderOf(path);
    rmSync(recordPath(directory, ref), { force: true });
    await writeAtomically(path, printResource(content), { mode: kind === "Secret" ? 0o600 : 0o644 });
    folder.markChanged(relative(directory, path));
  } else {
    if (canonicalJson(held.placed.content) === canonicalJson(content)) return held.resource;
    await rewriteFile(place, held, (text) => replaceDocument(text, held.placed.document, content), content);
    folder.markChanged(held.source.path);
  }
  const written = (await folder.refresh()).entries.get(refKey(ref));
  if (!written)
    throw new Error(`${kind} ${ref.namespace}/${ref.name} was removed by another program right after it was written`);
  return written.resource;
}

function checkExpectation(ref: Ref, held: ViewEntry | undefined, expect: ApplyOptions["expect"]): void {
  if (expect === undefined) return;
  const title = `${ref.kind} ${ref.namespace}/${ref.name}`;
  if (expect === "absent") {
    if (held) throw new Conflict("exists", `${title} exists, in ${held.source.path}`);
    return;
  }
  const { uid, resourceVersion } = held?.resource.metadata ?? {};
  if (uid === expect.uid && resourceVersion === expect.resourceVersion) return;
  throw new Conflict("changed", `${title} ${held ? "has been changed" : "has been removed"}; read it again`);
}

/** Another process may have created the resource since the scan, in the file that this one would create. */
async function findUnseen(
  directory: string,
  { folder, ref }: { folder: DirectoryReader; ref: Ref },
): Promise<ViewEntry | undefined> {
  return existsSync(pathFor(directory, ref)) ? (await folder.rescan()).entries.get(refKey(ref)) : undefined;
}

/** `<kind>/<name>.yaml`, with the namespace before the name unless it is `default`. */
function pathFor(directory: string, { kind, namespace, name }: Ref, count = 1): string {
  // Names contain no underscore, so file names are unambiguous.
  const stem = namespace === "default" ? name : `${namespace}_${name}`;
  return join(directory, kind.toLowerCase(), `${stem}${count === 1 ? "" : `_${count}`}.yaml`);
}

function freePath(directory: string, ref: Ref): string {
  for (let count = 1; ; count++) {
    const path = pathFor(directory, ref, count);
    if (!existsSync(path)) return path;
  }
}

function makeFolderOf(path: string): void {
  const folder = dirname(path);
  if (!existsSync(folder)) mkdirSync(folder, { recursive: true });
}

async function removeOnce(place: WriteContext, { ref, uid }: RemoveRequest): Promise<boolean> {
  const { folder } = place;
  const held = await folder.findAfterRescan(ref);
  if (!held) return false;
  if (uid !== undefined && held.resource.metadata.uid !== uid)
    throw new Conflict("changed", `${ref.kind} ${ref.namespace}/${ref.name} is another one by now`);
  await rewriteFile(place, held, (text) => removeDocument(text, held.placed.document), null);
  folder.markChanged(held.source.path);
  return true;
}

/** Replaces the file's text by the result of `change`; null removes the file. */
async function rewriteFile(
  place: WriteContext,
  held: ViewEntry,
  change: (text: string) => string | null,
  content: Resource | null,
): Promise<void> {
  const { path, file } = held.source;
  const [first] = file.value.faults;
  if (file.value.broken && first)
    throw new Rejected(`${path}:${first.line}:${first.column}: ${first.message}: repair the file first`);
  const full = join(place.directory, path);
  const before = readTextIfExists(full);
  if (before === undefined || !isUnchanged(parseResources(before), file.value.good)) throw new EditedConflict(path);
  const text = change(before);
  if (text === null) return removeAtomically(full);
  checkOutcome(path, text, { held, content });
  // The new file has a new birth time: the creation times of its resources must not change.
  for (const placed of file.value.good.resources) await recordCreationTime(place, refOf(placed), file.bornAt);
  await writeAtomically(full, text, { after: file.changedAt, replaces: before });
}

/** Whether the same resources are at the same positions. */
function isUnchanged(now: ParsedFile, good: ParsedFile): boolean {
  const places = ({ resources }: ParsedFile) =>
    canonicalJson(resources.map(({ document, content }) => ({ document, content })));
  return !now.broken && places(now) === places(good);
}

/** A rewrite that loses or changes anything else must not reach the disk, whatever YAML features the file uses. */
function checkOutcome(
  path: string,
  text: string,
  { held, content }: { held: ViewEntry; content: Resource | null },
): void {
  const before = held.source.file.value.good.resources;
  const expected = before.flatMap((placed) => (placed === held.placed ? (content ? [content] : []) : [placed.content]));
  const after = parseResources(text);
  const found = after.resources.map((placed) => placed.content);
  if (after.broken || canonicalJson(found) !== canonicalJson(expected))
    throw new Rejected(`${path} cannot be rewritten without changing more than was asked; edit it by hand`);
}

async function recordCreationTime(
  { directory, withRecordLock: inRecords }: WriteContext,
  ref: Ref,
  bornAt: number,
): Promise<void> {
  const path = recordPath(directory, ref);
  if (existsSync(path)) return;
  await inRecords(async () => {
    if (!existsSync(path)) await writeRecord(path, { created: seconds(new Date(bornAt)) });
  });
}

/** All conditions of a resource after the merge; null when nothing changes. */
export const newConditions = (
  held: ViewEntry | undefined,
  conditions: readonly Condition[],
): readonly Condition[] | null | undefined =>
  held && mergeConditions(held.resource.status?.conditions ?? [], conditions, new Date());

export async function writeConditions(
  { directory, folder }: WriteContext,
  { ref, conditions }: { ref: Ref; conditions: readonly Condition[] },
): Promise<void> {
  const held = await folder.find(ref);
  const merged = newConditions(held, conditions);
  if (!held || !merged) return;
  const path = recordPath(directory, ref);
  await writeRecord(path, {
    created: held.resource.metadata.creationTimestamp ?? seconds(new Date()),
    generation: held.resource.metadata.generation,
    spec: specHash(held.placed.content),
    conditions: merged,
  });
  folder.markChanged(held.source.path);
  if ((await folder.refresh()).entries.has(refKey(ref)) || (await folder.find(ref))) return;
  // The resource was removed meanwhile, and its record before this one was written.
  rmSync(path, { force: true });
}

/** Not durable: a lost record is rewritten once the operator finds the status wrong. */
async function writeRecord(path: string, record: StatusRecord): Promise<void> {
  makeFolderOf(path);
  await writeAtomically(path, printRecord(record), { durable: false });
}
