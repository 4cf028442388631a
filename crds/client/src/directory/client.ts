/** Resources in a directory of YAML files, for machines without a cluster. Several processes may share it. */
import { existsSync, mkdirSync } from "node:fs";
import { join, resolve } from "node:path";
import type { Log } from "../log.ts";
import type { ResourceClient } from "../resource.ts";
import { keyOf } from "./content.ts";
import { createFolder, type Folder } from "./folder.ts";
import { removeLeftovers } from "./leftovers.ts";
import { createLock, type Lock } from "./lock.ts";
import { statusFolder } from "./record.ts";
import { parseSelectors } from "./selector.ts";
import { createSubscription, type Selection, type Subscription, select } from "./subscription.ts";
import { createTurns, type Turns } from "./turns.ts";
import type { View } from "./view.ts";
import { type Watcher, watchDirectory } from "./watcher.ts";
import { applyResource, newConditions, type Place, removeResource, writeConditions } from "./writer.ts";

export interface DirectoryClientOptions {
  /** Holds `*.yaml`, `*.yml` and `*.json`, in sub-folders too, with any number of documents. */
  readonly directory: string;
  readonly log: Log;
  /** See `SLUICE_UNPROTECT_WAIT`. Milliseconds; default 2000. */
  readonly unprotectWait?: number;
}

/** Equal events within this time are told once. */
const eventWindow = 10 * 60_000;

/** A directory that is not there yet is no error: watches wait for it. */
export function createDirectoryClient(options: DirectoryClientOptions): ResourceClient {
  const { directory: path, log, unprotectWait = 2000 } = options;
  const directory = resolve(path);
  const onWait = (path: string, wait: number) => feed.lookAgain(path, wait);
  const folder = createFolder({ directory, log, unprotectWait, onWait });
  const lock = createLock(join(directory, statusFolder, "lock"));
  // Statuses are written beside the resources: neither writer waits for the other.
  const statusLock = createLock(join(directory, statusFolder, "status-lock"));
  const place: Place = { directory, folder, inRecords: statusLock.hold };
  const feed = createFeed(directory, folder);
  const closing = new AbortController();
  const told = new Map<string, number>();
  const turns = new Map<string, Turns>();
  const isTidy = new Set<Lock>();

  function prepare(): void {
    closing.signal.throwIfAborted();
    const path = join(directory, statusFolder);
    if (existsSync(path)) return;
    try {
      // Not recursive: a directory that is not there is a mistake of the settings.
      mkdirSync(path);
    } catch (error) {
      // Another process was quicker.
      if (!existsSync(path)) throw error;
    }
  }

  /** At the first write under a lock: what was left behind must not stay for ever, nor keep anybody from writing. */
  async function tidy(within: Lock): Promise<void> {
    if (isTidy.has(within)) return;
    isTidy.add(within);
    try {
      await removeLeftovers(within === lock ? directory : join(directory, statusFolder));
    } catch (error) {
      log.warn({ directory, error }, "what killed writers have left behind could not be removed");
    }
  }

  async function inside<Result>(within: Lock, run: () => Promise<Result>): Promise<Result> {
    prepare();
    return within.hold(async () => {
      await tidy(within);
      return run();
    });
  }

  async function write<Result>(within: Lock, run: () => Promise<Result>): Promise<Result> {
    const result = await inside(within, run);
    feed.refresh();
    return result;
  }

  return {
    get: async (ref) => (await folder.find(ref))?.resource ?? null,

    async list(kind, { namespace, ...selectors } = {}) {
      const view = await folder.look();
      // Who compares a list with what a watch has told need not wait for the file system's word.
      feed.show(view);
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

    // A folder is looked at again and again, whatever its file system tells: no stream can die.
    rewatch() {},

    apply: (kind, resource, { expect }) => write(lock, () => applyResource(place, { kind, resource, expect })),
    remove: (ref, { uid } = {}) => write(lock, () => removeResource(place, { ref, uid })),

    async setConditions(ref, conditions) {
      const known = (await folder.follow()).held.get(keyOf(ref));
      // Most calls have nothing new to say and need no lock.
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

    async inTurn({ namespace, name }, run) {
      prepare();
      if (!isTidy.has(lock)) await inside(lock, async () => {});
      const key = `${namespace}_${name}`;
      const taken = turns.get(key) ?? createTurns(join(directory, statusFolder), key);
      turns.set(key, taken);
      return taken.take(run);
    },

    async close() {
      closing.abort();
      feed.close();
      await Promise.all([lock, statusLock, ...turns.values()].map((one) => one.close()));
    },
  };
}

interface Feed {
  add(subscription: Subscription, signal: AbortSignal): void;
  /** Something was written here: subscribers need not wait for the file system to say so. */
  refresh(): void;
  /** A file is to be looked at again, after milliseconds. */
  lookAgain(path: string, wait: number): void;
  /** The directory was looked at, and this came of it. */
  show(view: View): void;
  close(): void;
}

/** Shows every new view to all who follow. The directory is watched while there is anybody. */
function createFeed(directory: string, folder: Folder): Feed {
  const subscriptions = new Set<Subscription>();
  let watcher: Watcher | undefined;
  const waiting = new Map<string, NodeJS.Timeout>();

  function show(looked: View): void {
    const view = folder.latest() ?? looked;
    for (const subscription of subscriptions) subscription.show(view);
  }

  async function refresh(look: () => Promise<View>): Promise<void> {
    if (subscriptions.size === 0) return;
    try {
      show(await look());
    } catch (error) {
      for (const subscription of subscriptions) subscription.lose(error as Error);
    }
  }

  function onChange(paths: ReadonlySet<string> | undefined, areWhole: boolean): Promise<void> {
    const isKnown = paths !== undefined && [...paths].every((path) => folder.touched(path, areWhole));
    return refresh(isKnown ? folder.follow : folder.look);
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
      void refresh(folder.look);
    },
    refresh: () => void refresh(folder.follow),
    lookAgain(path, wait) {
      if (subscriptions.size === 0) return;
      clearTimeout(waiting.get(path));
      const timer = setTimeout(() => {
        waiting.delete(path);
        void onChange(new Set([path]), false);
      }, wait);
      waiting.set(path, timer);
    },
    show,
    close,
  };
}
