/** Reads the current state of the directory: a scan lists all files, but rereads only the files that have changed. */
import { statSync } from "node:fs";
import { basename, join, relative } from "node:path";
import { setImmediate, setTimeout as sleep } from "node:timers/promises";
import { refKey } from "../keys.ts";
import { kindNames } from "../kinds.ts";
import type { Log } from "../log.ts";
import type { Kind, Ref } from "../resource.ts";
import { maxRescanInterval, rescanShare } from "./files/directory-watcher.ts";
import { type CachedFile, createFileCache, isResourceFile, listFiles } from "./files/file-cache.ts";
import { createFileSettling } from "./files/file-settling.ts";
import { DirectoryIndex, type DirectoryView, type FileContent, refOf, type SourceFile } from "./view/directory-view.ts";
import { lostProtection } from "./view/lost-protection.ts";
import { type ParsedFile, parseResources } from "./view/parse-resources.ts";
import { parseRecord, recordPath, type StatusRecord, statusFolder } from "./view/status-record.ts";

export type DirectoryReader = ReturnType<typeof createDirectoryReader>;

/** Number of files that a scan reads before it yields to the event loop. */
const BATCH_SIZE = 64;

/** Maximum number of times that the first scan is repeated while files have not settled. */
const FIRST_TRIES = 20;

/** Minimum milliseconds for which a full scan proves that a resource is absent; longer when scans take long. */
const MIN_TRUST = 2000;

export interface DirectoryReaderOptions {
  readonly directory: string;
  readonly log: Log;
  /** Milliseconds. See `SLUICE_UNPROTECT_WAIT`. */
  readonly unprotectWait: number;
  /** Called for a file that has not settled yet: it is to be reread after `wait` milliseconds. */
  readonly onWait: (path: string, wait: number) => void;
  /** Called with the view, which may be unchanged, after every scan and every refresh that reads files. */
  readonly onView: (view: DirectoryView) => void;
}

export function createDirectoryReader({ directory, log, unprotectWait, onWait, onView }: DirectoryReaderOptions) {
  const settling = createFileSettling<FileContent>({
    unprotectWait,
    lostProtection,
    onLoss(full, lost) {
      const path = relative(directory, full);
      const wait = `the change of ${path} waits until the file has been unchanged for ${unprotectWait / 1000} s`;
      log.warn({ path }, `${wait}: it removes ${lost}, and the file may be half written`);
    },
    onWait(full, wait) {
      longestWait = Math.max(longestWait, wait);
      onWait(relative(directory, full), wait);
    },
  });
  const readFile = createFileCache(readContent, settling);
  const readRecord = createFileCache<StatusRecord | null>(parseRecord);
  /** Files as last read. A scan in progress updates this map long before it updates the view. */
  const sources = new Map<string, SourceFile>();
  const index = new DirectoryIndex();
  /** Undefined until the first scan is complete. */
  let view: DirectoryView | undefined;
  /** Files that changed since they were read. */
  const dirty = new Set<string>();
  /** Problems that were logged and are not solved. */
  let problems: ReadonlySet<string> = new Set();
  const unreadable = new Set<string>();
  let longestWait = 0;
  let scannedAt = Number.NEGATIVE_INFINITY;
  let trust = MIN_TRUST;
  let running: Promise<DirectoryView> | undefined;
  let next: Promise<DirectoryView> | undefined;

  function unlessUnreadable<Value>(read: (path: string) => Value | undefined, path: string): Value | undefined {
    try {
      return read(path);
    } catch (error) {
      const message = `${path}: ${error instanceof Error ? error.message : String(error)}`;
      if (!unreadable.has(message)) log.error({ path }, message);
      unreadable.add(message);
      return undefined;
    }
  }

  function readSource(path: string): void {
    const file = unlessUnreadable(readFile, join(directory, path));
    const records = file?.value.resources.map((placed) =>
      unlessUnreadable(readRecord, recordPath(directory, refOf(placed))),
    );
    if (file && records) sources.set(path, { path, file, records });
    else sources.delete(path);
  }

  /** Throws if the directory was moved away, because all its files then look as if they had been removed. */
  function assertDirectoryExists(): void {
    statSync(directory);
  }

  function updateView(paths: Iterable<string>): DirectoryView {
    view = index.update([...paths].map((path) => [path, sources.get(path)]));
    const present = new Set(view.problems);
    for (const problem of present.difference(problems)) log.error({ directory }, problem);
    for (const solved of problems.difference(present)) log.info({ directory }, `solved: ${solved}`);
    problems = present;
    onView(view);
    return view;
  }

  async function readAll(): Promise<void> {
    const startedAt = performance.now();
    const paths = new Set(await listFiles(directory, isResourceFile));
    let count = 0;
    for (const path of paths.union(sources)) {
      if (++count % BATCH_SIZE === 0) await setImmediate();
      readSource(path);
    }
    // The scan may have read these files before they changed, or may not have listed them.
    for (const path of dirty) readSource(path);
    assertDirectoryExists();
    scannedAt = startedAt;
    trust = Math.min(Math.max(MIN_TRUST, (performance.now() - startedAt) / rescanShare), maxRescanInterval);
  }

  /**
   * The first scan is repeated while files are still being written, at most `FIRST_TRIES` times: without these files,
   * Routes in other files might be unprotected.
   */
  async function scan(): Promise<DirectoryView> {
    for (let tries = view ? 0 : FIRST_TRIES; ; tries--) {
      longestWait = 0;
      await readAll();
      if (longestWait === 0 || tries === 0) return updateView(new Set(index.paths()).union(sources));
      await sleep(longestWait);
    }
  }

  /**
   * A view that is no older than the call. Rejects when the directory cannot be read. Calls during a scan share the
   * next scan, because a call needs a scan that starts after the call.
   */
  function rescan(): Promise<DirectoryView> {
    if (next) return next;
    const start = () => {
      next = undefined;
      running = scan().finally(() => {
        running = undefined;
      });
      return running;
    };
    if (!running) return start();
    next = running.then(start, start);
    return next;
  }

  /** The last view, updated with all files passed to `markChanged` since then. Reads only these files. */
  async function refresh(): Promise<DirectoryView> {
    if (!view) return rescan();
    if (dirty.size === 0) return view;
    for (const path of dirty) readSource(path);
    assertDirectoryExists();
    const paths = [...dirty];
    dirty.clear();
    return updateView(paths);
  }

  /**
   * The file of the resource to which a status record belongs; undefined if the path is not that of a record, or if the
   * view does not contain the resource.
   */
  function ownerOf(record: string): string | undefined {
    const [, folder, namespace, name] = /^[^/]+\/([^/]+)\/([^/_]+)_([^/]+)\.json$/.exec(record) ?? [];
    const kind = (Object.keys(kindNames) as Kind[]).find((one) => one.toLowerCase() === folder);
    if (!kind || namespace === undefined || name === undefined) return undefined;
    return view?.entries.get(refKey({ kind, namespace, name }))?.source.path;
  }

  /**
   * Records that a process wrote or removed a file; the path is relative to the directory. False: the effect is unknown
   * without a full scan.
   */
  function markChanged(path: string): boolean {
    const file = path.startsWith(statusFolder) ? ownerOf(path) : path;
    if (file === undefined || basename(path).startsWith(".")) return true;
    if (!isResourceFile(file)) return false;
    dirty.add(file);
    return true;
  }

  async function findKnown(key: string) {
    const known = (await refresh()).entries.get(key);
    if (!known) return undefined;
    const { path } = known.source;
    readSource(path);
    // The resource may have moved to another file, so this file alone does not show its current state.
    return index.isCurrent(path, sources.get(path)) ? known : (await rescan()).entries.get(key);
  }

  return {
    rescan,
    refresh,
    markChanged,
    placeOf(ref: Ref): string | null {
      const entry = view?.entries.get(refKey(ref));
      if (!entry) return null;
      const { line, column } = entry.placed.position;
      return `${join(directory, entry.source.path)}:${line}:${column}`;
    },
    /**
     * The resource in its current state; undefined if it does not exist. Fast when the last view contains the resource
     * and its file has not changed since.
     */
    async find(ref: Ref) {
      const key = refKey(ref);
      return (await findKnown(key)) ?? (await rescan()).entries.get(key);
    },
    /** Like `find`, except that a resource that a full scan did not find counts as absent for the next 2 to 30 s. */
    async findAfterRescan(ref: Ref) {
      const key = refKey(ref);
      const found = await findKnown(key);
      return found || performance.now() - scannedAt < trust ? found : (await rescan()).entries.get(key);
    },
  };
}

/**
 * A file keeps its previous content if it does not parse, or if one of its resources may have become a faulty document:
 * an editing mistake or half a file must not take a route down.
 */
function readContent(text: string, before: CachedFile<FileContent> | undefined): FileContent {
  const parsed = parseResources(text);
  if (!parsed.broken && !losesResource(parsed, before?.value)) return parsed;
  const goodAt = before && (before.value.goodAt ?? { changedAt: before.changedAt, bornAt: before.bornAt });
  return { resources: before?.value.resources ?? [], goodAt, faults: parsed.faults, broken: true };
}

/** Whether a resource of the file is missing now and a faulty document may be that resource. */
function losesResource({ resources, faults }: ParsedFile, before: ParsedFile | undefined): boolean {
  if (faults.length === 0 || before === undefined) return false;
  const found = new Set(resources.map((placed) => refKey(refOf(placed))));
  return before.resources.some((placed) => !found.has(refKey(refOf(placed))));
}
