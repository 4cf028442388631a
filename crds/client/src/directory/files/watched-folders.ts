/**
 * File system notifications for a folder tree, with one watch per folder. Node's recursive watch uses one watch per
 * file and scans all files at every change.
 */
import { type FSWatcher, readdirSync, statSync, watch } from "node:fs";
import { extname, join } from "node:path";
import { statusFolder } from "../view/status-record.ts";

export type WatchedFolders = ReturnType<typeof watchFolders>;

interface Watched {
  readonly watcher: FSWatcher;
  readonly inode: number;
}

/** @param onChange Receives the changed path, relative to the directory; null: anything may have changed. */
export function watchFolders(directory: string, onChange: (path: string | null) => void) {
  const watched = new Map<string, Watched>();

  function unwatch(below: string): void {
    watched.get(below)?.watcher.close();
    watched.delete(below);
  }

  /** True if the folder was not watched before. */
  function watchFolder(below: string): boolean {
    const full = join(directory, below);
    const inode = statSync(full).ino;
    if (watched.get(below)?.inode === inode) return false;
    unwatch(below);
    const watcher = watch(full, (event, name) => {
      if (name !== null && !isWatchedName(below, name)) return;
      const path = name === null ? null : join(below, name);
      onChange(path !== null && event === "rename" && isNewFolder(path) ? null : path);
    });
    watcher.on("error", () => unwatch(below));
    watched.set(below, { watcher, inode });
    return true;
  }

  /**
   * Returns whether any folder was not watched before. Folders that cannot be watched, because they are gone or the
   * system has no watches left, are covered by the rescans of directory-watcher.ts.
   */
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

  /**
   * Watches the path if it is a folder. Returns true if the folder, or one in it, was not watched before: files that
   * were already in it caused no notifications, so anything may have changed.
   */
  const isNewFolder = (path: string): boolean => (watched.has(path) || isFolder(path)) && watchTree(path);

  const isFolder = (path: string): boolean =>
    extname(path) === "" && statSync(join(directory, path), { throwIfNoEntry: false })?.isDirectory() === true;

  return {
    /** Watches folders that are new or were replaced. True when there were any. */
    refresh: () => watchTree(""),
    stop(): void {
      for (const below of [...watched.keys()]) unwatch(below);
    },
  };
}

/** Hidden files belong to other programs or are still being written. */
const isWatchedName = (below: string, name: string): boolean =>
  !name.startsWith(".") || (below === "" && name === statusFolder);
