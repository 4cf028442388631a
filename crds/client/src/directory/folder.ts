/** The directory as it is now: looked at as a whole, read again only where it changed. */
import { statSync } from "node:fs";
import { basename, join, relative } from "node:path";
import { setImmediate, setTimeout as sleep } from "node:timers/promises";
import { kindNames } from "../kinds.ts";
import type { Log } from "../log.ts";
import type { Kind, Ref } from "../resource.ts";
import { keyOf } from "./content.ts";
import { absent, createFileCache, isResourceFile, listFiles, type Read } from "./files.ts";
import { lostProtection } from "./lost-protection.ts";
import { type Parsed, parseResources } from "./parse.ts";
import { createPatience } from "./patience.ts";
import { parseRecord, recordPath, type StatusRecord, statusFolder } from "./record.ts";
import { buildView, changeView, type FileContent, type Held, refOf, type Source, type View } from "./view.ts";
import { rarest, rescanShare } from "./watcher.ts";

export interface Folder {
  /** A view that is no older than the call. Rejects when the directory cannot be read. */
  look(): Promise<View>;
  /** The last view with all that `touched` tells of since: what a change costs does not grow with the directory. */
  follow(): Promise<View>;
  /** The newest view; what a look gives may be older by the time it is heard of. */
  latest(): View | undefined;
  /**
   * A file was written or removed, by whomever; its path is relative to the directory. False: what that means is not
   * known without a look at everything.
   *
   * @param isWhole It was put in its place in one step: if it is the file that was read there is no news in it.
   */
  touched(path: string, isWhole?: boolean): boolean;
  /** The resource as it is; quick when its files have not changed since the last view. */
  find(ref: Ref): Promise<Held | undefined>;
  /** The same, but somebody else may have put it into a file of another name a moment ago. */
  recall(ref: Ref): Promise<Held | undefined>;
}

const parallel = 64;

/** How often a process that starts looks again for files that are at rest. */
const FIRST_TRIES = 20;

/** Milliseconds for which a look at everything tells what is not there, at the least: many files take long to look at. */
const isRecent = 2000;

/** All that was read. */
interface Content {
  readonly sources: Map<string, Source>;
  /** Records by `keyOf`. */
  readonly records: Map<string, Read<StatusRecord | null>>;
}

export interface FolderOptions {
  readonly directory: string;
  readonly log: Log;
  /** See `SLUICE_UNPROTECT_WAIT`. Milliseconds. */
  readonly unprotectWait: number;
  /** Told of a file that others write and that does not count yet: it is to be looked at again, after milliseconds. */
  readonly onWait: (path: string, wait: number) => void;
}

export function createFolder({ directory, log, unprotectWait, onWait }: FolderOptions): Folder {
  const patience = createPatience<FileContent>({
    unprotectWait,
    lost: (before, now) => lostProtection(before.good, now.good),
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
  let view: View | undefined;
  let content: Content | undefined;
  /** What the view was made of. */
  let shown: Content | undefined;
  let lookedAt = Number.NEGATIVE_INFINITY;
  let recent = isRecent;
  let running: Promise<View> | undefined;
  let next: Promise<View> | undefined;
  let following: Promise<View> | undefined;
  const dirty = new Set<string>();
  /** What was touched while everything is being read: it may have been read before. */
  let during: Set<string> | undefined;

  /** What is being written when a process starts is waited for: without it the rest may be open. */
  async function scan(): Promise<View> {
    const isFirst = content === undefined;
    for (let tries = FIRST_TRIES; ; tries--) {
      waits = 0;
      const found = await scanOnce();
      if (!isFirst || waits === 0 || tries === 0) return show(found);
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
      checkThere();
      files.keep(new Set([...fresh.sources.keys()].map((path) => join(directory, path))));
      records.keep(new Set(refsIn(fresh).map((ref) => recordPath(directory, ref))));
      lookedAt = startedAt;
      recent = Math.min(Math.max(isRecent, (performance.now() - startedAt) / rescanShare), rarest);
      return fresh;
    } finally {
      during = undefined;
    }
  }

  /** A directory that was moved away while it was read looks as if all in it had been removed. Throws then. */
  function checkThere(): void {
    statSync(directory);
  }

  /** Reads what the set holds, and what comes into it meanwhile; all of these. */
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
    const file = await files.read(join(directory, path)).catch((error) => unreadable(path, error));
    const before = into.sources.get(path);
    const refs = [before, file && { path, file }].flatMap(
      (source) => source?.file.value.good.resources.map(refOf) ?? [],
    );
    const found = await Promise.all(refs.map(async (ref) => [keyOf(ref), await readRecord(ref)] as const));
    if (file) into.sources.set(path, { path, file });
    else into.sources.delete(path);
    for (const [key, record] of found) {
      if (record) into.records.set(key, record);
      else into.records.delete(key);
    }
  }

  const refsIn = ({ sources }: Content): readonly Ref[] =>
    [...sources.values()].flatMap(({ file }) => file.value.good.resources.map(refOf));

  function show(now: Content): View {
    const before = view;
    content = now;
    if (before && isSame(now, shown)) return before;
    shown = { sources: new Map(now.sources), records: new Map(now.records) };
    const sources = [...now.sources.values()].sort((one, other) => (one.path < other.path ? -1 : 1));
    view = buildView(sources, now.records, before);
    tellProblems(view, before);
    return view;
  }

  /** The view when nothing but these files and their records may have changed. */
  function showSome(now: Content, paths: readonly string[]): View {
    const before = shown;
    if (!before || !view) return show(now);
    const changed = [...new Set(paths)]
      .map((path) => ({ path, before: before.sources.get(path), after: now.sources.get(path) }))
      .filter(({ before: one, after: other }) => one?.file !== other?.file || !sameRecords(other, now, before));
    if (changed.length === 0) return view;
    const next = changeView(view, changed, now.records);
    if (!next) return show(now);
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

  async function catchUp(now: Content): Promise<View> {
    const taken = await readAll(now, dirty);
    try {
      checkThere();
    } catch (error) {
      for (const path of taken) dirty.add(path);
      throw error;
    }
    if (content === now) return showSome(now, taken);
    // A look at everything has ended meanwhile, and may have begun before.
    for (const path of taken) dirty.add(path);
    return content ? catchUp(content) : look();
  }

  function follow(): Promise<View> {
    if (!content || !view) return look();
    if (following) return following.then(follow, follow);
    if (dirty.size === 0) return Promise.resolve(view);
    following = catchUp(content).finally(() => {
      following = undefined;
    });
    return following;
  }

  function readRecord(ref: Ref): Promise<Read<StatusRecord | null> | undefined> {
    const path = recordPath(directory, ref);
    return records.read(path).catch((error) => unreadable(path, error));
  }

  const said = new Set<string>();
  function unreadable(path: string, error: unknown): undefined {
    const message = `${path}: ${error instanceof Error ? error.message : String(error)}`;
    if (!said.has(message)) log.error({ path }, message);
    said.add(message);
    return undefined;
  }

  function tellProblems(now: View, before: View | undefined): void {
    const known = new Set(before?.problems);
    for (const problem of now.problems) if (!known.delete(problem)) log.error({ directory }, problem);
    for (const solved of known) log.info({ directory }, `solved: ${solved}`);
  }

  function start(): Promise<View> {
    running = scan().finally(() => {
      running = undefined;
    });
    return running;
  }

  /** Those who ask while a scan runs share the next one: theirs must begin after they asked. */
  function look(): Promise<View> {
    if (next) return next;
    if (!running) return start();
    const again = () => {
      next = undefined;
      return start();
    };
    next = running.then(again, again);
    return next;
  }

  /** The file of the resource that a record belongs to; undefined: there is none, or it is no record. */
  function ownerOf(record: string): string | undefined {
    const [, folder, namespace, name] = /^[^/]+\/([^/]+)\/([^/_]+)_([^/]+)\.json$/.exec(record) ?? [];
    const kind = (Object.keys(kindNames) as Kind[]).find((one) => one.toLowerCase() === folder);
    if (!kind || namespace === undefined || name === undefined) return undefined;
    return view?.held.get(keyOf({ kind, namespace, name }))?.source.path;
  }

  async function find(ref: Ref): Promise<Held | undefined> {
    const before = (await follow()).held.get(keyOf(ref));
    if (!before) return undefined;
    const file = await files.read(join(directory, before.source.path)).catch(absent);
    const record = await readRecord(ref);
    if (file === before.source.file && record === before.record) return before;
    return (await look()).held.get(keyOf(ref));
  }

  return {
    look,
    follow,
    latest: () => view,
    touched(path, isWhole = false) {
      const isRecord = path.startsWith(statusFolder);
      const file = isRecord ? ownerOf(path) : path;
      if (file === undefined || basename(path).startsWith(".")) return true;
      if (!isResourceFile(file)) return false;
      if (isWhole && !during && (isRecord ? records : files).isRead(join(directory, path))) return true;
      dirty.add(file);
      during?.add(file);
      return true;
    },
    find: async (ref) => (await find(ref)) ?? (await look()).held.get(keyOf(ref)),
    async recall(ref) {
      const held = await find(ref);
      if (held || performance.now() - lookedAt < recent) return held;
      return (await look()).held.get(keyOf(ref));
    },
  };
}

/** A file that is the same was read as the same object. */
function isSame(now: Content, before: Content | undefined): boolean {
  if (now.sources.size !== before?.sources.size || now.records.size !== before.records.size) return false;
  for (const [path, { file }] of now.sources) if (before.sources.get(path)?.file !== file) return false;
  for (const [key, record] of now.records) if (before.records.get(key) !== record) return false;
  return true;
}

/** A file that does not parse keeps what it held: a slip while editing, or half a file, must not take a route down. */
function readContent(text: string, before: Read<FileContent> | undefined): FileContent {
  const parsed = parseResources(text);
  if (!parsed.broken && !misses(parsed, before?.value.good))
    return { good: parsed, faults: parsed.faults, broken: false };
  const good = before?.value.good ?? { broken: false, resources: [], faults: [] };
  const goodAt = before && (before.value.goodAt ?? { changedAt: before.changedAt, bornAt: before.bornAt });
  return { good, goodAt, faults: parsed.faults, broken: true };
}

/** Whether one of the documents may be a resource that the file held, and is none now. */
function misses({ resources, faults }: Parsed, before: Parsed | undefined): boolean {
  if (faults.length === 0 || before === undefined) return false;
  const found = new Set(resources.map((placed) => keyOf(refOf(placed))));
  return before.resources.some((placed) => !found.has(keyOf(refOf(placed))));
}

const keysIn = ({ file }: Source): readonly string[] => file.value.good.resources.map((placed) => keyOf(refOf(placed)));

const sameRecords = (source: Source | undefined, now: Content, before: Content): boolean =>
  !source || keysIn(source).every((key) => now.records.get(key) === before.records.get(key));

async function inBatches<Item, Result>(
  items: readonly Item[],
  run: (item: Item) => Promise<Result>,
): Promise<readonly Result[]> {
  const results: Result[] = [];
  for (let from = 0; from < items.length; from += parallel) {
    // Others have their turn in between.
    if (from > 0) await setImmediate();
    results.push(...(await Promise.all(items.slice(from, from + parallel).map(run))));
  }
  return results;
}
