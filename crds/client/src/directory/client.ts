/** Resource client for a directory of YAML files, for machines without a cluster. Several processes may share it. */
import { existsSync, mkdirSync } from "node:fs";
import { join, resolve } from "node:path";
import { refKey } from "../keys.ts";
import type { Log } from "../log.ts";
import type { ResourceClient } from "../resource.ts";
import { createDirectoryReader, type DirectoryReader } from "./directory-reader.ts";
import { createDirectoryMutex, type DirectoryMutex } from "./files/directory-mutex.ts";
import { type Watcher, watchDirectory } from "./files/directory-watcher.ts";
import { createFileLock, type FileLock } from "./files/file-lock.ts";
import { removeStaleTemporaryFiles } from "./files/temporary-files.ts";
import type { DirectoryView } from "./view/directory-view.ts";
import { parseSelectors } from "./view/selector.ts";
import { statusFolder } from "./view/status-record.ts";
import { createSubscription, type Selection, type Subscription, select } from "./view/subscription.ts";
import { applyResource, newConditions, removeResource, type WriteContext, writeConditions } from "./writer.ts";

export interface DirectoryClientOptions {
  /** Contains any number of resources in `*.yaml`, `*.yml` and `*.json` files, including in sub-folders. */
  readonly directory: string;
  readonly log: Log;
  /** Milliseconds; default 2000. See `SLUICE_UNPROTECT_WAIT`. */
  readonly unprotectWait?: number;
}

/** Milliseconds. Equal events within this window are logged once. */
const eventWindow = 10 * 60_000;

/** A directory that does not exist yet is no error: watches wait for it. */
export function createDirectoryClient(options: DirectoryClientOptions): ResourceClient {
  const { directory: path, log, unprotectWait = 2000 } = options;
  const directory = resolve(path);
  const onWait = (path: string, wait: number) => feed.recheckAfter(path, wait);
  const folder = createDirectoryReader({ directory, log, unprotectWait, onWait });
  const lock = createFileLock(join(directory, statusFolder, "lock"));
  // Statuses are written to files of their own, so that writers of resources and of statuses never wait for each other.
  const statusLock = createFileLock(join(directory, statusFolder, "status-lock"));
  const place: WriteContext = { directory, folder, withRecordLock: statusLock.run };
  const feed = createSubscriptions(directory, folder);
  const closing = new AbortController();
  const told = new Map<string, number>();
  const turns = new Map<string, DirectoryMutex>();
  const isTidy = new Set<FileLock>();

  function prepare(): void {
    closing.signal.throwIfAborted();
    const path = join(directory, statusFolder);
    if (existsSync(path)) return;
    try {
      // Not recursive: a directory whose parent does not exist is a mistake in the settings.
      mkdirSync(path);
    } catch (error) {
      // Another process created it first.
      if (!existsSync(path)) throw error;
    }
  }

  /** At the first write under a lock: files left by killed writers must not accumulate, nor block a write. */
  async function removeLeftoversOnce(within: FileLock): Promise<void> {
    if (isTidy.has(within)) return;
    isTidy.add(within);
    try {
      await removeStaleTemporaryFiles(within === lock ? directory : join(directory, statusFolder));
    } catch (error) {
      log.warn({ directory, error }, "what killed writers have left behind could not be removed");
    }
  }

  async function withLock<Result>(within: FileLock, run: () => Promise<Result>): Promise<Result> {
    prepare();
    return within.run(async () => {
      await removeLeftoversOnce(within);
      return run();
    });
  }

  async function write<Result>(within: FileLock, run: () => Promise<Result>): Promise<Result> {
    const result = await withLock(within, run);
    feed.refresh();
    return result;
  }

  return {
    get: async (ref) => (await folder.find(ref))?.resource ?? null,

    async list(kind, { namespace, ...selectors } = {}) {
      const view = await folder.rescan();
      // A caller that compares this list with its watch need not wait for a file system notification.
      feed.publish(view);
      return select(view, { kind, namespace, matches: parseSelectors(selectors) });
    },

    watch(kind, observer, { namespace, signal, ...selectors }) {
      const either = AbortSignal.any([signal, closing.signal]);
      let selection: Selection;
      try {
        selection = { kind, namespace, matches: parseSelectors(selectors) };
      } catch (error) {
        observer.lost?.(error as Error);
        return;
      }
      feed.add(createSubscription({ selection, observer, log, signal: either }), either);
    },

    // The directory is rescanned periodically whatever its file system reports: a watch cannot go stale.
    rewatch() {},

    apply: (kind, resource, { expect }) => write(lock, () => applyResource(place, { kind, resource, expect })),
    remove: (ref, { uid } = {}) => write(lock, () => removeResource(place, { ref, uid })),

    async setConditions(ref, conditions) {
      const known = (await folder.refresh()).entries.get(refKey(ref));
      // Most calls change nothing and need no lock.
      if (newConditions(known, conditions) || newConditions(await folder.find(ref), conditions))
        await write(statusLock, () => writeConditions(place, { ref, conditions }));
    },

    async recordEvent(ref, { type, reason, message, reporter }) {
      const now = Date.now();
      for (const [said, at] of told) if (now - at > eventWindow) told.delete(said);
      const key = JSON.stringify([ref, type, reason, message, reporter]);
      if (told.has(key)) return;
      told.set(key, now);
      log[type === "Warning" ? "warn" : "info"]({ ...ref, reason, reporter }, message);
    },

    async withMutex({ namespace, name }, run) {
      prepare();
      if (!isTidy.has(lock)) await withLock(lock, async () => {});
      const key = `${namespace}_${name}`;
      const taken = turns.get(key) ?? createDirectoryMutex(join(directory, statusFolder), key);
      turns.set(key, taken);
      return taken.run(run);
    },

    async close() {
      closing.abort();
      feed.close();
      await Promise.all([lock, statusLock, ...turns.values()].map((one) => one.close()));
    },
  };
}

interface Subscriptions {
  add(subscription: Subscription, signal: AbortSignal): void;
  /** This process has written a file: subscribers need not wait for a file system notification. */
  refresh(): void;
  /** Rereads the file after `wait` milliseconds. */
  recheckAfter(path: string, wait: number): void;
  /** Shows subscribers the view of a scan, or a newer one. */
  publish(view: DirectoryView): void;
  close(): void;
}

/** Passes every new view to the subscribers. The directory is watched while there are any. */
function createSubscriptions(directory: string, folder: DirectoryReader): Subscriptions {
  const subscriptions = new Set<Subscription>();
  let watcher: Watcher | undefined;
  const waiting = new Map<string, NodeJS.Timeout>();

  function show(looked: DirectoryView): void {
    const view = folder.latestView() ?? looked;
    for (const subscription of subscriptions) subscription.update(view);
  }

  async function refresh(look: () => Promise<DirectoryView>): Promise<void> {
    if (subscriptions.size === 0) return;
    try {
      show(await look());
    } catch (error) {
      for (const subscription of subscriptions) subscription.fail(error as Error);
    }
  }

  function onChange(paths: ReadonlySet<string> | undefined, areWhole: boolean): Promise<void> {
    const isKnown = paths !== undefined && [...paths].every((path) => folder.markChanged(path, areWhole));
    return refresh(isKnown ? folder.refresh : folder.rescan);
  }

  function close(): void {
    watcher?.stop();
    watcher = undefined;
    subscriptions.clear();
    for (const timer of waiting.values()) clearTimeout(timer);
    waiting.clear();
  }

  return {
    add(subscription, signal) {
      if (signal.aborted) return;
      subscriptions.add(subscription);
      watcher ??= watchDirectory({ directory, onChange });
      signal.addEventListener("abort", () => {
        subscriptions.delete(subscription);
        if (subscriptions.size === 0) close();
      });
      void refresh(folder.rescan);
    },
    refresh: () => void refresh(folder.refresh),
    recheckAfter(path, wait) {
      if (subscriptions.size === 0) return;
      clearTimeout(waiting.get(path));
      const timer = setTimeout(() => {
        waiting.delete(path);
        void onChange(new Set([path]), false);
      }, wait);
      waiting.set(path, timer);
    },
    publish: show,
    close,
  };
}
