/** Reads the current state of the directory: scans list all files, but reread only those that changed. */
import { statSync } from "node:fs";
import { basename, join, relative } from "node:path";
import { setImmediate, setTimeout as sleep } from "node:timers/promises";
import { refKey } from "../keys.ts";
import { kindNames } from "../kinds.ts";
import type { Log } from "../log.ts";
import type { Kind, Ref } from "../resource.ts";
import { maxRescanInterval, rescanShare } from "./files/directory-watcher.ts";
import { type CachedFile, createFileCache, isResourceFile, listFiles, undefinedIfMissing } from "./files/file-cache.ts";
import { createFileSettling } from "./files/file-settling.ts";
import {
  buildView,
  changeView,
  type DirectoryView,
  type FileContent,
  refOf,
  type SourceFile,
  type ViewEntry,
} from "./view/directory-view.ts";
import { lostProtection } from "./view/lost-protection.ts";
import { type ParsedFile, parseResources } from "./view/parse-resources.ts";
import { parseRecord, recordPath, type StatusRecord, statusFolder } from "./view/status-record.ts";

export interface DirectoryReader {
  /** A view that is no older than the call. Rejects when the directory cannot be read. */
  rescan(): Promise<DirectoryView>;
  /** The last view updated by all paths passed to `markChanged` since. The cost does not grow with the directory. */
  refresh(): Promise<DirectoryView>;
  /** The newest view; one returned by `rescan` may already be outdated when its caller receives it. */
  latestView(): DirectoryView | undefined;
  /**
   * Records that a process wrote or removed a file; the path is relative to the directory. False: the effect is unknown
   * without a full scan.
   *
   * @param isWhole The file was put in place in one step: if it is the file that was read, it has not changed since.
   */
  markChanged(path: string, isWhole?: boolean): boolean;
  /** The resource in its current state; fast when its files have not changed since the last view. */
  find(ref: Ref): Promise<ViewEntry | undefined>;
  /** Like `find`, but also finds a resource that another process has just put into a file of another name. */
  findAfterRescan(ref: Ref): Promise<ViewEntry | undefined>;
}

const parallel = 64;

/** How many times the first scan is repeated to wait for files to settle. */
const FIRST_TRIES = 20;

/** Milliseconds for which a full scan is trusted about absent resources, at the least; longer when scans take long. */
const isRecent = 2000;

/** The files and status records that were read. */
interface Content {
  readonly sources: Map<string, SourceFile>;
  /** Records by `refKey`. */
  readonly records: Map<string, CachedFile<StatusRecord | null>>;
}

export interface DirectoryReaderOptions {
  readonly directory: string;
  readonly log: Log;
  /** Milliseconds. See `SLUICE_UNPROTECT_WAIT`. */
  readonly unprotectWait: number;
  /** Called for a file that has not settled yet: it is to be reread after `wait` milliseconds. */
  readonly onWait: (path: string, wait: number) => void;
}

export function createDirectoryReader({
  directory,
  log,
  unprotectWait,
  onWait,
}: DirectoryReaderOptions): DirectoryReader {
  const patience = createFileSettling<FileContent>({
    unprotectWait,
    lostProtection: (before, now) => lostProtection(before.good, now.good),
    onWait(full, lost) {
      const path = relative(directory, full);
      const wait = `the change of ${path} waits until the file has been unchanged for ${unprotectWait / 1000} s`;
      log.warn({ path }, `${wait}: it removes ${lost}, and the file may be half written`);
    },
  });
  let waits = 0;
  const files = createFileCache<FileContent>(readContent, {
    patience,
    onWait(full, wait) {
      waits = Math.max(waits, wait);
      onWait(relative(directory, full), wait);
    },
  });
  const records = createFileCache<StatusRecord | null>(parseRecord);
  let view: DirectoryView | undefined;
  let content: Content | undefined;
  /** The content from which the view was built. */
  let shown: Content | undefined;
  let lookedAt = Number.NEGATIVE_INFINITY;
  let recent = isRecent;
  let running: Promise<DirectoryView> | undefined;
  let next: Promise<DirectoryView> | undefined;
  let following: Promise<DirectoryView> | undefined;
  const dirty = new Set<string>();
  /** Paths marked during a full scan, which may have read them before the change. */
  let during: Set<string> | undefined;

  /** At the start, files still being written are awaited: without them the others might be unprotected. */
  async function scan(): Promise<DirectoryView> {
    const isFirst = content === undefined;
    for (let tries = FIRST_TRIES; ; tries--) {
      waits = 0;
      const found = await scanOnce();
      if (!isFirst || waits === 0 || tries === 0) return updateView(found);
      await sleep(waits);
    }
  }

  async function scanOnce(): Promise<Content> {
    const startedAt = performance.now();
    const late = new Set<string>();
    during = late;
    try {
      const paths = await listFiles(directory, isResourceFile);
      const fresh: Content = { sources: new Map(), records: new Map() };
      await inBatches(paths, (path) => readInto(fresh, path));
      await readAll(fresh, late);
      assertDirectoryExists();
      files.retainOnly(new Set([...fresh.sources.keys()].map((path) => join(directory, path))));
      records.retainOnly(new Set(refsIn(fresh).map((ref) => recordPath(directory, ref))));
      lookedAt = startedAt;
      recent = Math.min(Math.max(isRecent, (performance.now() - startedAt) / rescanShare), maxRescanInterval);
      return fresh;
    } finally {
      during = undefined;
    }
  }

  /**
   * A directory that was moved away during the scan looks as if all its files had been removed. Throws in that case.
   */
  function assertDirectoryExists(): void {
    statSync(directory);
  }

  /** Reads the paths in the set, including those added meanwhile; returns all that were read. */
  async function readAll(into: Content, paths: Set<string>): Promise<readonly string[]> {
    const all: string[] = [];
    while (paths.size > 0) {
      const taken = [...paths];
      paths.clear();
      await inBatches(taken, (path) => readInto(into, path));
      all.push(...taken);
    }
    return all;
  }

  async function readInto(into: Content, path: string): Promise<void> {
    const file = await files.read(join(directory, path)).catch((error) => logUnreadable(path, error));
    const before = into.sources.get(path);
    const refs = [before, file && { path, file }].flatMap(
      (source) => source?.file.value.good.resources.map(refOf) ?? [],
    );
    const found = await Promise.all(refs.map(async (ref) => [refKey(ref), await readRecord(ref)] as const));
    if (file) into.sources.set(path, { path, file });
    else into.sources.delete(path);
    for (const [key, record] of found) {
      if (record) into.records.set(key, record);
      else into.records.delete(key);
    }
  }

  const refsIn = ({ sources }: Content): readonly Ref[] =>
    [...sources.values()].flatMap(({ file }) => file.value.good.resources.map(refOf));

  function updateView(now: Content): DirectoryView {
    const before = view;
    content = now;
    if (before && isSame(now, shown)) return before;
    shown = { sources: new Map(now.sources), records: new Map(now.records) };
    const sources = [...now.sources.values()].sort((one, other) => (one.path < other.path ? -1 : 1));
    view = buildView(sources, now.records, before);
    logProblems(view, before);
    return view;
  }

  /** Updates the view when only these files and their records may have changed. */
  function updateViewPartly(now: Content, paths: readonly string[]): DirectoryView {
    const before = shown;
    if (!before || !view) return updateView(now);
    const changed = [...new Set(paths)]
      .map((path) => ({ path, before: before.sources.get(path), after: now.sources.get(path) }))
      .filter(({ before: one, after: other }) => one?.file !== other?.file || !sameRecords(other, now, before));
    if (changed.length === 0) return view;
    const next = changeView(view, changed, now.records);
    if (!next) return updateView(now);
    for (const { path, before: one, after } of changed) {
      if (after) before.sources.set(path, after);
      else before.sources.delete(path);
      for (const key of [one, after].flatMap((source) => (source ? keysIn(source) : []))) {
        const record = now.records.get(key);
        if (record) before.records.set(key, record);
        else before.records.delete(key);
      }
    }
    view = next;
    return view;
  }

  async function catchUp(now: Content): Promise<DirectoryView> {
    const taken = await readAll(now, dirty);
    try {
      assertDirectoryExists();
    } catch (error) {
      for (const path of taken) dirty.add(path);
      throw error;
    }
    if (content === now) return updateViewPartly(now, taken);
    // A full scan has ended meanwhile, and may have read these files before the change.
    for (const path of taken) dirty.add(path);
    return content ? catchUp(content) : rescan();
  }

  function refresh(): Promise<DirectoryView> {
    if (!content || !view) return rescan();
    if (following) return following.then(refresh, refresh);
    if (dirty.size === 0) return Promise.resolve(view);
    following = catchUp(content).finally(() => {
      following = undefined;
    });
    return following;
  }

  function readRecord(ref: Ref): Promise<CachedFile<StatusRecord | null> | undefined> {
    const path = recordPath(directory, ref);
    return records.read(path).catch((error) => logUnreadable(path, error));
  }

  const said = new Set<string>();
  function logUnreadable(path: string, error: unknown): undefined {
    const message = `${path}: ${error instanceof Error ? error.message : String(error)}`;
    if (!said.has(message)) log.error({ path }, message);
    said.add(message);
    return undefined;
  }

  function logProblems(now: DirectoryView, before: DirectoryView | undefined): void {
    const known = new Set(before?.problems);
    for (const problem of now.problems) if (!known.delete(problem)) log.error({ directory }, problem);
    for (const solved of known) log.info({ directory }, `solved: ${solved}`);
  }

  function start(): Promise<DirectoryView> {
    running = scan().finally(() => {
      running = undefined;
    });
    return running;
  }

  /** Calls during a scan share the next one, because a scan must start after the call. */
  function rescan(): Promise<DirectoryView> {
    if (next) return next;
    if (!running) return start();
    const again = () => {
      next = undefined;
      return start();
    };
    next = running.then(again, again);
    return next;
  }

  /** The file of the resource that a record belongs to; undefined if there is none or the path is not a record's. */
  function ownerOf(record: string): string | undefined {
    const [, folder, namespace, name] = /^[^/]+\/([^/]+)\/([^/_]+)_([^/]+)\.json$/.exec(record) ?? [];
    const kind = (Object.keys(kindNames) as Kind[]).find((one) => one.toLowerCase() === folder);
    if (!kind || namespace === undefined || name === undefined) return undefined;
    return view?.entries.get(refKey({ kind, namespace, name }))?.source.path;
  }

  async function find(ref: Ref): Promise<ViewEntry | undefined> {
    const before = (await refresh()).entries.get(refKey(ref));
    if (!before) return undefined;
    const file = await files.read(join(directory, before.source.path)).catch(undefinedIfMissing);
    const record = await readRecord(ref);
    if (file === before.source.file && record === before.record) return before;
    return (await rescan()).entries.get(refKey(ref));
  }

  return {
    rescan: rescan,
    refresh: refresh,
    latestView: () => view,
    markChanged(path, isWhole = false) {
      const isRecord = path.startsWith(statusFolder);
      const file = isRecord ? ownerOf(path) : path;
      if (file === undefined || basename(path).startsWith(".")) return true;
      if (!isResourceFile(file)) return false;
      if (isWhole && !during && (isRecord ? records : files).isCurrent(join(directory, path))) return true;
      dirty.add(file);
      during?.add(file);
      return true;
    },
    find: async (ref) => (await find(ref)) ?? (await rescan()).entries.get(refKey(ref)),
    async findAfterRescan(ref) {
      const held = await find(ref);
      if (held || performance.now() - lookedAt < recent) return held;
      return (await rescan()).entries.get(refKey(ref));
    },
  };
}

/** Compares by identity: an unchanged file is the same cached object. */
function isSame(now: Content, before: Content | undefined): boolean {
  if (now.sources.size !== before?.sources.size || now.records.size !== before.records.size) return false;
  for (const [path, { file }] of now.sources) if (before.sources.get(path)?.file !== file) return false;
  for (const [key, record] of now.records) if (before.records.get(key) !== record) return false;
  return true;
}

/**
 * A file that does not parse keeps its previous content: an editing mistake or half a file must not take a route down.
 */
function readContent(text: string, before: CachedFile<FileContent> | undefined): FileContent {
  const parsed = parseResources(text);
  if (!parsed.broken && !losesResource(parsed, before?.value.good))
    return { good: parsed, faults: parsed.faults, broken: false };
  const good = before?.value.good ?? { broken: false, resources: [], faults: [] };
  const goodAt = before && (before.value.goodAt ?? { changedAt: before.changedAt, bornAt: before.bornAt });
  return { good, goodAt, faults: parsed.faults, broken: true };
}

/** Whether a resource of the file is missing now and a faulty document may be that resource. */
function losesResource({ resources, faults }: ParsedFile, before: ParsedFile | undefined): boolean {
  if (faults.length === 0 || before === undefined) return false;
  const found = new Set(resources.map((placed) => refKey(refOf(placed))));
  return before.resources.some((placed) => !found.has(refKey(refOf(placed))));
}

const keysIn = ({ file }: SourceFile): readonly string[] =>
  file.value.good.resources.map((placed) => refKey(refOf(placed)));

const sameRecords = (source: SourceFile | undefined, now: Content, before: Content): boolean =>
  !source || keysIn(source).every((key) => now.records.get(key) === before.records.get(key));

async function inBatches<Item, Result>(
  items: readonly Item[],
  run: (item: Item) => Promise<Result>,
): Promise<readonly Result[]> {
  const results: Result[] = [];
  for (let from = 0; from < items.length; from += parallel) {
    // Yields to the event loop between batches.
    if (from > 0) await setImmediate();
    results.push(...(await Promise.all(items.slice(from, from + parallel).map(run))));
  }
  return results;
}
