/** Resource client for a directory of YAML files, for machines without a cluster. Several processes may share it. */
import { randomUUID } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { refKey } from "../keys.ts";
import type { Log } from "../log.ts";
import type { ResourceClient } from "../resource.ts";
import { createDirectoryReader } from "./directory-reader.ts";
import { ensureFolder, removeStaleTemporaryFiles } from "./files/atomic.ts";
import { watchDirectory } from "./files/directory-watcher.ts";
import { readTextIfExists } from "./files/file-cache.ts";
import { createFileLock, type FileLock } from "./files/file-lock.ts";
import { parseSelectors } from "./view/selector.ts";
import { statusFolder } from "./view/status-record.ts";
import { createSubscription, type Selection, type Subscription, selectResources } from "./view/subscription.ts";
import { createDirectoryWriter, newConditions } from "./writer.ts";

export interface DirectoryClientOptions {
  /** Contains any number of resources in `*.yaml`, `*.yml` and `*.json` files, including in sub-folders. */
  readonly directory: string;
  readonly log: Log;
  /** Milliseconds; default 2000. See `SLUICE_UNPROTECT_WAIT`. */
  readonly unprotectWait?: number;
}

/** Milliseconds. Equal events within this window are logged once. */
const eventWindow = 10 * 60_000;

/** If more files than this have changed, they are read by a full scan, which yields to the event loop. */
const MANY_FILES = 64;

/** A directory that does not exist yet is not an error: watches wait for it. */
export function createDirectoryClient(options: DirectoryClientOptions): ResourceClient {
  const { directory: path, log, unprotectWait = 2000 } = options;
  const directory = resolve(path);
  const hiddenFolder = join(directory, statusFolder);
  const folder = createDirectoryReader({
    directory,
    log,
    unprotectWait,
    onWait: recheckAfter,
    onView(view) {
      for (const subscription of subscriptions) subscription.update(view);
    },
  });
  const lock = createFileLock(join(hiddenFolder, "lock"));
  // Statuses have files and a lock of their own, so that their writers need not wait for the lock of the resources.
  const statusLock = createFileLock(join(hiddenFolder, "status-lock"));
  const writer = createDirectoryWriter({ directory, folder, withRecordLock: statusLock.run });
  const closing = new AbortController();
  const recordedAt = new Map<string, number>();
  const identity = randomUUID();
  const mutexes = new Map<string, FileLock>();
  const isTidy = new Set<FileLock>();
  const subscriptions = new Set<Subscription>();
  const rechecks = new Map<string, NodeJS.Timeout>();
  /** Ends the watch of the directory, which lasts while there are subscriptions. */
  let unwatch: (() => void) | undefined;

  /** Updates the view with the changed files; undefined: any file may have changed. */
  async function onChange(paths: ReadonlySet<string> | undefined): Promise<void> {
    if (subscriptions.size === 0) return;
    const isKnown = paths !== undefined && paths.size <= MANY_FILES && [...paths].every(folder.markChanged);
    try {
      await (isKnown ? folder.refresh() : folder.rescan());
    } catch (error) {
      for (const subscription of subscriptions) subscription.fail(error as Error);
    }
  }

  function recheckAfter(path: string, wait: number): void {
    if (subscriptions.size === 0) return;
    clearTimeout(rechecks.get(path));
    const timer = setTimeout(() => {
      rechecks.delete(path);
      void onChange(new Set([path]));
    }, wait);
    rechecks.set(path, timer);
  }

  function stopWatching(): void {
    unwatch?.();
    unwatch = undefined;
    for (const timer of rechecks.values()) clearTimeout(timer);
    rechecks.clear();
  }

  function prepare(): void {
    closing.signal.throwIfAborted();
    ensureFolder(hiddenFolder);
  }

  async function withLock<Result>(within: FileLock, run: () => Promise<Result>): Promise<Result> {
    prepare();
    return within.run(async () => {
      if (!isTidy.has(within)) await removeLeftovers(within);
      return run();
    });
  }

  /**
   * Runs at the first write under a lock, so that files left by killed writers do not accumulate. A failure does not
   * prevent the write.
   */
  async function removeLeftovers(within: FileLock): Promise<void> {
    isTidy.add(within);
    await removeStaleTemporaryFiles(within === lock ? directory : hiddenFolder).catch((error) =>
      log.warn({ directory, error }, "temporary files of killed writers could not be removed"),
    );
  }

  return {
    get: async (ref) => (await folder.find(ref))?.resource ?? null,

    list: async (kind, { namespace, ...selectors } = {}) =>
      selectResources(await folder.rescan(), { kind, namespace, matches: parseSelectors(selectors) }),

    placeOf: (ref) => folder.placeOf(ref),

    watch(kind, observer, { namespace, signal, ...selectors }) {
      const either = AbortSignal.any([signal, closing.signal]);
      if (either.aborted) return;
      let selection: Selection;
      try {
        selection = { kind, namespace, matches: parseSelectors(selectors) };
      } catch (error) {
        observer.lost?.(error as Error);
        return;
      }
      const subscription = createSubscription({ selection, observer, log, signal: either });
      subscriptions.add(subscription);
      unwatch ??= watchDirectory({ directory, onChange });
      either.addEventListener("abort", () => {
        subscriptions.delete(subscription);
        if (subscriptions.size === 0) stopWatching();
      });
      void onChange(undefined);
    },

    // Nothing to reopen: the directory is rescanned periodically, so a watch cannot go stale.
    rewatch() {},

    apply: (kind, resource, { expect }) => withLock(lock, () => writer.apply(kind, resource, expect)),
    remove: (ref, { uid } = {}) => withLock(lock, () => writer.remove(ref, uid)),

    async setConditions(ref, conditions) {
      const known = (await folder.refresh()).entries.get(refKey(ref));
      // Most calls change nothing and need no lock.
      if (newConditions(known, conditions) || newConditions(await folder.find(ref), conditions))
        await withLock(statusLock, () => writer.setConditions(ref, conditions));
    },

    applyStatus: (ref, status, { uid }) => withLock(statusLock, () => writer.applyStatus(ref, status, uid)),

    async recordEvent(ref, { type, reason, message, reporter }) {
      const now = Date.now();
      for (const [said, at] of recordedAt) if (now - at > eventWindow) recordedAt.delete(said);
      const key = JSON.stringify([ref, type, reason, message, reporter]);
      if (recordedAt.has(key)) return;
      recordedAt.set(key, now);
      log[type === "Warning" ? "warn" : "info"]({ ...ref, reason, reporter }, message);
    },

    async withMutex({ namespace, name }, run) {
      prepare();
      if (!isTidy.has(lock)) await withLock(lock, async () => {});
      const file = join(hiddenFolder, `${namespace}_${name}`);
      const mutex = mutexes.get(file) ?? createFileLock(`${file}-lock`);
      mutexes.set(file, mutex);
      return mutex.run(async () => {
        const othersMayHaveWritten = readTextIfExists(`${file}-last`) !== identity;
        if (othersMayHaveWritten) writeFileSync(`${file}-last`, identity);
        return run({ othersMayHaveWritten });
      });
    },

    async close() {
      closing.abort();
      await Promise.all([lock, statusLock, ...mutexes.values()].map((one) => one.close()));
    },
  };
}
