/**
 * Writes to the files of a directory. Writes of resources run under one lock and return once they are on disk; writes
 * of status records run under another lock.
 */
import { existsSync, mkdirSync, rmSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { canonicalJson } from "@sluice/model";
import { formatMetaTime, mergeConditions } from "../conditions.ts";
import { refKey } from "../keys.ts";
import {
  type ApplyOptions,
  type Condition,
  Conflict,
  type Kind,
  type Ref,
  type Resource,
  ResourceRejected,
} from "../resource.ts";
import type { DirectoryReader } from "./directory-reader.ts";
import { EditedConflict, removeAtomically, writeAtomically } from "./files/atomic.ts";
import { readTextIfExists } from "./files/file-cache.ts";
import { printResource, removeDocument, replaceDocument } from "./rewrite-document.ts";
import { applyContent, metadataProblem } from "./view/content.ts";
import { refOf, specHash, type ViewEntry } from "./view/directory-view.ts";
import { type ParsedFile, parseResources } from "./view/parse-resources.ts";
import { printRecord, recordPath, type StatusRecord } from "./view/status-record.ts";

export interface DirectoryWriterOptions {
  readonly directory: string;
  readonly folder: DirectoryReader;
  /** Runs a function under the lock of the records. */
  readonly withRecordLock: <Result>(run: () => Promise<Result>) => Promise<Result>;
}

const attempts = 8;
/**
 * Milliseconds of the first pause; the nth pause is n times as long. All pauses together are longer than
 * `SETTLE_MILLISECONDS` (file-settling.ts).
 */
const PAUSE = 20;

/**
 * `apply` and `remove` must be called under the lock of the resources, `setConditions` and `applyStatus` under that of
 * the records.
 */
export function createDirectoryWriter({ directory, folder, withRecordLock }: DirectoryWriterOptions) {
  async function applyOnce(kind: Kind, resource: Resource, expect: ApplyOptions["expect"]): Promise<Resource> {
    const fault = metadataProblem(kind, resource);
    if (fault) throw new ResourceRejected(fault);
    const ref: Ref = { kind, namespace: resource.metadata.namespace, name: resource.metadata.name };
    const key = refKey(ref);
    let held = await folder.findAfterRescan(ref);
    // Another process may have created the resource since the scan, in the file that this process would create.
    if (!held && existsSync(join(directory, pathFor(ref)))) held = (await folder.rescan()).entries.get(key);
    checkExpectation(ref, held, expect);
    const content = applyContent(kind, held?.placed.content, resource);
    if (!held) {
      const path = freePath(ref);
      mkdirSync(dirname(path), { recursive: true });
      rmSync(recordPath(directory, ref), { force: true });
      await writeAtomically(path, printResource(content), { mode: kind === "Secret" ? 0o600 : 0o644 });
      folder.markChanged(relative(directory, path));
    } else {
      if (canonicalJson(held.placed.content) === canonicalJson(content)) return held.resource;
      await rewriteFile(held, content);
      folder.markChanged(held.source.path);
    }
    const written = (await folder.refresh()).entries.get(key);
    if (!written)
      throw new Error(`${kind} ${ref.namespace}/${ref.name} was removed by another program right after it was written`);
    return written.resource;
  }

  function freePath(ref: Ref): string {
    for (let count = 1; ; count++) {
      const path = join(directory, pathFor(ref, count));
      if (!existsSync(path)) return path;
    }
  }

  async function removeOnce(ref: Ref, uid: string | undefined): Promise<boolean> {
    const held = await folder.findAfterRescan(ref);
    if (!held) return false;
    if (uid !== undefined && held.resource.metadata.uid !== uid)
      throw new Conflict(
        "changed",
        `${ref.kind} ${ref.namespace}/${ref.name} was replaced by another object with its name`,
      );
    await rewriteFile(held, null);
    folder.markChanged(held.source.path);
    return true;
  }

  /** Replaces the resource in its file; null removes it. */
  async function rewriteFile({ source, placed }: ViewEntry, content: Resource | null): Promise<void> {
    const { path, file } = source;
    const { resources, broken, faults } = file.value;
    const [first] = faults;
    if (broken && first)
      throw new ResourceRejected(`${path}:${first.line}:${first.column}: ${first.message}: repair the file first`);
    const full = join(directory, path);
    const before = readTextIfExists(full);
    if (before === undefined || !isUnchanged(parseResources(before), file.value)) throw new EditedConflict(path);
    const text = content ? replaceDocument(before, placed.document, content) : removeDocument(before, placed.document);
    if (text === null) return removeAtomically(full);
    // A rewrite that loses or changes anything else must not reach the disk, whatever YAML features the file uses.
    const expected = resources.flatMap((one) => (one === placed ? (content ?? []) : one.content));
    const after = parseResources(text);
    if (after.broken || canonicalJson(after.resources.map((one) => one.content)) !== canonicalJson(expected))
      throw new ResourceRejected(`${path} cannot be rewritten without changing more than requested; edit it by hand`);
    // The new file gets a new birth time, so the creation times of its resources are recorded first.
    for (const one of resources) await recordCreationTime(refOf(one), file.bornAt);
    await writeAtomically(full, text, { after: file.changedAt, replaces: before });
  }

  async function recordCreationTime(ref: Ref, bornAt: number): Promise<void> {
    const path = recordPath(directory, ref);
    if (existsSync(path)) return;
    await withRecordLock(async () => {
      if (!existsSync(path)) await writeRecord(path, { created: formatMetaTime(new Date(bornAt)) });
    });
  }

  async function writeStatus(
    ref: Ref,
    held: ViewEntry,
    status: Pick<StatusRecord, "conditions" | "status">,
  ): Promise<void> {
    const path = recordPath(directory, ref);
    await writeRecord(path, {
      created: held.resource.metadata.creationTimestamp ?? formatMetaTime(new Date()),
      generation: held.resource.metadata.generation,
      spec: specHash(held.placed.content),
      ...status,
    });
    folder.markChanged(held.source.path);
    if ((await folder.refresh()).entries.has(refKey(ref)) || (await folder.find(ref))) return;
    // The resource and its record were removed before this record was written.
    rmSync(path, { force: true });
  }

  return {
    apply: (kind: Kind, resource: Resource, expect: ApplyOptions["expect"]): Promise<Resource> =>
      retryOnEdit(() => applyOnce(kind, resource, expect)),

    /**
     * Removes the resource from every file that defines it; otherwise the definition in the next file would take
     * effect. False if no file defines it.
     */
    async remove(ref: Ref, uid: string | undefined): Promise<boolean> {
      let removed = false;
      while (await retryOnEdit(() => removeOnce(ref, uid))) removed = true;
      if (removed) rmSync(recordPath(directory, ref), { force: true });
      return removed;
    },

    async setConditions(ref: Ref, conditions: readonly Condition[]): Promise<void> {
      const held = await folder.find(ref);
      const merged = newConditions(held, conditions);
      if (held && merged) await writeStatus(ref, held, { conditions: merged });
    },

    async applyStatus(ref: Ref, status: Resource["status"], uid: string | undefined): Promise<void> {
      const held = await folder.find(ref);
      if (!held || held.resource.metadata.uid !== uid) return;
      if (canonicalJson(held.resource.status) !== canonicalJson(status)) await writeStatus(ref, held, { status });
    },
  };
}

/** Repeats a write whose file was edited, including all its checks, on the file's new content. */
async function retryOnEdit<Result>(write: () => Promise<Result>): Promise<Result> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await write();
    } catch (error) {
      if (!(error instanceof EditedConflict) || attempt === attempts) throw error;
      // An edit takes effect once the file has settled.
      await sleep(attempt * PAUSE);
    }
  }
}

function checkExpectation(ref: Ref, held: ViewEntry | undefined, expect: ApplyOptions["expect"]): void {
  if (expect === undefined) return;
  const title = `${ref.kind} ${ref.namespace}/${ref.name}`;
  if (expect === "absent") {
    if (held) throw new Conflict("exists", `${title} already exists in ${held.source.path}`);
    return;
  }
  const { uid, resourceVersion } = held?.resource.metadata ?? {};
  if (uid === expect.uid && resourceVersion === expect.resourceVersion) return;
  throw new Conflict("changed", `${title} ${held ? "has been changed" : "has been removed"}; read it again`);
}

/** `<kind>/<name>.yaml`, with the namespace before the name unless it is `default`. */
function pathFor({ kind, namespace, name }: Ref, count = 1): string {
  // Names contain no underscore, so file names are unambiguous.
  const stem = namespace === "default" ? name : `${namespace}_${name}`;
  return join(kind.toLowerCase(), `${stem}${count === 1 ? "" : `_${count}`}.yaml`);
}

/** Whether the same resources are at the same positions. */
function isUnchanged(now: ParsedFile, read: ParsedFile): boolean {
  const places = ({ resources }: ParsedFile) =>
    canonicalJson(resources.map(({ document, content }) => ({ document, content })));
  return !now.broken && places(now) === places(read);
}

/** All conditions of a resource after the merge; null when nothing changes, undefined when there is no resource. */
export const newConditions = (
  held: ViewEntry | undefined,
  conditions: readonly Condition[],
): readonly Condition[] | null | undefined =>
  held && mergeConditions(held.resource.status?.conditions ?? [], conditions, new Date());

/** Not durable: a lost record is rewritten once the operator finds that the status is outdated. */
async function writeRecord(path: string, record: StatusRecord): Promise<void> {
  mkdirSync(dirname(path), { recursive: true });
  await writeAtomically(path, printRecord(record), { durable: false });
}
