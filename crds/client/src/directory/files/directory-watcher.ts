/**
 * Reports possible changes in a directory: at once through system notifications, and periodically in case those fail.
 */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { watchFolders } from "./watched-folders.ts";

export interface WatcherOptions {
  readonly directory: string;
  /** Minimum milliseconds between two rescans. Default 1,000. */
  readonly interval?: number;
  /**
   * Receives the changed paths, relative to the directory; undefined: any file may have changed. Resolves once they
   * have been processed.
   */
  readonly onChange: (paths: ReadonlySet<string> | undefined) => Promise<void>;
}

/**
 * Milliseconds to wait after a file went missing: editors move a file away before they write the new file, and the
 * notifications of a move name the old path first.
 */
const replacementPause = 20;
/**
 * Milliseconds after which further missing files do not prolong the wait: files that are removed one after the other
 * must not delay reports of other files.
 */
const maxReplacementPause = 200;
/** The share of time that rescans may use: the longer they take, the rarer they are. */
export const rescanShare = 1 / 20;
/** Maximum milliseconds between two rescans. */
export const maxRescanInterval = 30_000;

/** Returns a function that ends the watch. */
export function watchDirectory({ directory, interval = 1000, onChange }: WatcherOptions): () => void {
  let rescan: NodeJS.Timeout | undefined;
  let replacement: NodeJS.Timeout | undefined;
  /** When the first of the missing files that `replacement` waits for went missing, by performance.now(). */
  let missingSince = 0;
  let stopped = false;
  /** The changed paths since the last report; with a null among them, any file may have changed. */
  const changed = new Set<string | null>();

  function report(): void {
    if (stopped || replacement || changed.size === 0) return;
    const paths = [...changed].filter((path) => path !== null);
    void onChange(changed.has(null) ? undefined : new Set(paths));
    changed.clear();
  }

  function onPathChanged(path: string | null): void {
    changed.add(path);
    // setImmediate runs after all pending notifications were delivered.
    if (path === null || existsSync(join(directory, path))) setImmediate(report);
    else {
      const now = performance.now();
      if (!replacement) missingSince = now;
      else if (now - missingSince > maxReplacementPause) return;
      clearTimeout(replacement);
      const pause = setTimeout(() => {
        // When the event loop was blocked for longer than the pause, the notification of the new file is still pending.
        setImmediate(() => {
          if (replacement !== pause) return;
          replacement = undefined;
          report();
        });
      }, replacementPause);
      replacement = pause;
    }
  }

  // Where the system has no watches left or the directory does not exist yet, the rescans work without notifications.
  const folders = watchFolders(directory, onPathChanged);

  function scheduleRescan(pause: number): void {
    rescan = setTimeout(async () => {
      folders.refresh();
      const started = performance.now();
      await onChange(undefined);
      const took = performance.now() - started;
      if (!stopped) scheduleRescan(Math.min(Math.max(interval, took / rescanShare), maxRescanInterval));
    }, pause);
  }

  folders.refresh();
  scheduleRescan(interval);
  return () => {
    stopped = true;
    clearTimeout(rescan);
    clearTimeout(replacement);
    folders.stop();
  };
}
