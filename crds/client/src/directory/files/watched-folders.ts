/**
 * The system's notifications for a folder and all below it, one watch for each folder. Node's own recursive watch has
 * one for each file, and looks through all of them at every change.
 */
import { type FSWatcher, readdirSync, statSync, watch } from "node:fs";
import { extname, join } from "node:path";
import { statusFolder } from "../view/status-record.ts";
import { targetOf } from "./atomic.ts";

export interface WatchedFolders {
  /** Watches folders that are new, or others than before under their names. True when there were any. */
  refresh(): boolean;
  stop(): void;
}

interface Watched {
  readonly watcher: FSWatcher;
  readonly inode: number;
}

/**
 * Told the path of what changed, relative to the directory; null: anything may have.
 *
 * @param isWhole The file was put in its place, or taken from it, in one step by a writer of ours: nothing more is to
 * come. Others' files may be told in the middle of being written.
 */
export type ChangeListener = (path: string | null, isWhole: boolean) => void;

/** What the system tells of a name in a folder. */
interface FileSystemEvent {
  readonly event: string;
  readonly name: string | null;
}

export function watchFolders(directory: string, notice: ChangeListener): WatchedFolders {
  const watched = new Map<string, Watched>();

  function unwatch(below: string): void {
    watched.get(below)?.watcher.close();
    watched.delete(below);
  }

  /** True when it is watched from now on. */
  function watchFolder(below: string): boolean {
    const full = join(directory, below);
    const inode = statSync(full).ino;
    if (watched.get(below)?.inode === inode) return false;
    unwatch(below);
    const isOneStep = createPairing();
    const watcher = watch(full, (event, name) => {
      const target = isOneStep({ event, name });
      if (target === undefined) onEvent(below, { event, name });
      else notice(join(below, target), true);
    });
    watcher.on("error", () => unwatch(below));
    watched.set(below, { watcher, inode });
    return true;
  }

  /** What cannot be watched, because it has gone or the system has no watches left, is seen by the rescans. */
  function watchTree(below: string): boolean {
    try {
      let isNew = watchFolder(below);
      for (const entry of readdirSync(join(directory, below), { withFileTypes: true }))
        if (entry.isDirectory() && isWatchedName(below, entry.name))
          isNew = watchTree(join(below, entry.name)) || isNew;
      return isNew;
    } catch {
      unwatch(below);
      return false;
    }
  }

  function onEvent(below: string, { event, name }: FileSystemEvent): void {
    if (name !== null && !isWatchedName(below, name)) return;
    const path = name === null ? null : join(below, name);
    notice(path !== null && event === "rename" && isNewFolder(path) ? null : path, false);
  }

  /** What is in it was not told of. */
  const isNewFolder = (path: string): boolean => (watched.has(path) || isFolder(path)) && watchTree(path);

  const isFolder = (path: string): boolean =>
    extname(path) === "" && statSync(join(directory, path), { throwIfNoEntry: false })?.isDirectory() === true;

  return {
    refresh: () => watchTree(""),
    stop() {
      for (const below of [...watched.keys()]) unwatch(below);
    },
  };
}

/**
 * A move between a hidden name of our writers and the file it stands for is told as two events, one right after the
 * other. The returned function gives the file's name at the second one.
 */
function createPairing(): (told: FileSystemEvent) => string | undefined {
  let last: string | null = null;
  let paired: string | undefined;
  return ({ event, name }) => {
    const before = last;
    // What was moved to a hidden name is removed next, and that is no half of another move.
    last = event === "rename" && name !== paired ? name : null;
    if (last === null || before === null) return undefined;
    const [hidden, target] = last.startsWith(".") ? [last, before] : [before, last];
    if (targetOf(hidden) !== target) return undefined;
    last = null;
    paired = hidden;
    return target;
  };
}

/** Hidden ones are others' business, and files that are being written. */
const isWatchedName = (below: string, name: string): boolean =>
  !name.startsWith(".") || (below === "" && name === statusFolder);
