/**
 * The system's notifications for a folder and all below it, one watch for each folder. Node's own recursive watch has
 * one for each file, and looks through all of them at every change.
 */
import { type FSWatcher, readdirSync, statSync, watch } from "node:fs";
import { extname, join } from "node:path";
import { statusFolder } from "./record.ts";

export interface WatchedFolders {
  /** Watches folders that are new, or others than before under their names. True when there were any. */
  look(): boolean;
  stop(): void;
}

interface Watched {
  readonly watcher: FSWatcher;
  readonly inode: number;
}

/** @param notice Told the path of what changed, relative to the directory; null: anything may have. */
export function watchFolders(directory: string, notice: (path: string | null) => void): WatchedFolders {
  const watched = new Map<string, Watched>();

  function drop(below: string): void {
    watched.get(below)?.watcher.close();
    watched.delete(below);
  }

  /** True when it is watched from now on. */
  function follow(below: string): boolean {
    const full = join(directory, below);
    const inode = statSync(full).ino;
    if (watched.get(below)?.inode === inode) return false;
    drop(below);
    const watcher = watch(full, (event, name) => noticed(below, { event, name }));
    watcher.on("error", () => drop(below));
    watched.set(below, { watcher, inode });
    return true;
  }

  /** What cannot be watched, because it has gone or the system has no watches left, is seen by the rescans. */
  function lookIn(below: string): boolean {
    try {
      let isNew = follow(below);
      for (const entry of readdirSync(join(directory, below), { withFileTypes: true }))
        if (entry.isDirectory() && isOurs(below, entry.name)) isNew = lookIn(join(below, entry.name)) || isNew;
      return isNew;
    } catch {
      drop(below);
      return false;
    }
  }

  function noticed(below: string, { event, name }: { event: string; name: string | null }): void {
    if (name !== null && !isOurs(below, name)) return;
    const path = name === null ? null : join(below, name);
    notice(path !== null && event === "rename" && isNewFolder(path) ? null : path);
  }

  /** What is in it was not told of. */
  const isNewFolder = (path: string): boolean => (watched.has(path) || extname(path) === "") && lookIn(path);

  return {
    look: () => lookIn(""),
    stop() {
      for (const below of [...watched.keys()]) drop(below);
    },
  };
}

/** Hidden ones are others' business, and files that are being written. */
const isOurs = (below: string, name: string): boolean =>
  !name.startsWith(".") || (below === "" && name === statusFolder);
