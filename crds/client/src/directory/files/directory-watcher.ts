/**
 * Reports possible changes in a directory: at once through system notifications, and periodically in case those fail.
 */
import { watchFolders } from "./watched-folders.ts";

export interface Watcher {
  stop(): void;
}

export interface WatcherOptions {
  readonly directory: string;
  /** Minimum milliseconds between two rescans. Default 1,000. */
  readonly interval?: number;
  /**
   * Receives the changed paths, relative to the directory; undefined: any may have changed. Resolves once they have
   * been processed.
   *
   * @param areWhole Each was changed in one step, by a writer of Sluice.
   */
  readonly onChange: (paths: ReadonlySet<string> | undefined, areWhole: boolean) => Promise<void>;
}

/**
 * Milliseconds. An editor or a copy writes in several steps, which count as one change. Sluice's own writes need no
 * wait.
 */
const quiet = 20;
/** Milliseconds. A file that is written continuously must not delay the others. */
const maxQuiet = 200;
/** The share of time that rescans may use: the longer they take, the rarer they are. */
export const rescanShare = 1 / 20;
/** Maximum milliseconds between two rescans. */
export const maxRescanInterval = 30_000;

export function watchDirectory({ directory, interval = 1000, onChange }: WatcherOptions): Watcher {
  let pending: NodeJS.Timeout | undefined;
  let rescan: NodeJS.Timeout | undefined;
  let stopped = false;
  let firstAt = 0;
  let paths: Set<string> | undefined = new Set();

  /** Files whose change is complete. */
  const whole = new Set<string>();

  function onPathChanged(path: string | null, isWhole: boolean): void {
    if (path !== null && isWhole) {
      paths?.delete(path);
      // setImmediate runs after all pending notifications were delivered.
      if (whole.size === 0) setImmediate(reportComplete);
      whole.add(path);
      return;
    }
    if (path === null) paths = undefined;
    else paths?.add(path);
    const now = performance.now();
    if (!pending) firstAt = now;
    else if (now - firstAt > maxQuiet) return;
    clearTimeout(pending);
    pending = setTimeout(() => {
      pending = undefined;
      const changed = paths;
      paths = new Set();
      if (changed?.size !== 0) void onChange(changed, false);
    }, quiet);
  }

  function reportComplete(): void {
    const changed = new Set(whole);
    whole.clear();
    if (!stopped) void onChange(changed, true);
  }

  // Where the system has no watches left or the directory does not exist yet, the rescans work without notifications.
  const folders = watchFolders(directory, onPathChanged);

  function scheduleRescan(pause: number): void {
    rescan = setTimeout(async () => {
      folders.refresh();
      const started = performance.now();
      await onChange(undefined, false);
      const took = performance.now() - started;
      if (!stopped) scheduleRescan(Math.min(Math.max(interval, took / rescanShare), maxRescanInterval));
    }, pause);
  }

  folders.refresh();
  scheduleRescan(interval);
  return {
    stop() {
      stopped = true;
      clearTimeout(rescan);
      clearTimeout(pending);
      folders.stop();
    },
  };
}
