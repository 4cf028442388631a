/** Tells that a directory may have changed: at once by the system's notifications, and now and then because those fail. */
import { watchFolders } from "./watched-folders.ts";

export interface Watcher {
  stop(): void;
}

export interface WatcherOptions {
  readonly directory: string;
  /** Milliseconds between two rescans at the least. Default 1,000. */
  readonly interval?: number;
  /**
   * The paths that changed, relative to the directory; undefined: any may have. Resolves when that was looked at.
   *
   * @param areWhole They were changed in one step each, by writers of ours.
   */
  readonly onChange: (paths: ReadonlySet<string> | undefined, areWhole: boolean) => Promise<void>;
}

/** An editor or a copy writes in several steps: they are one change. Our own writers' files need no wait. */
const quiet = 20;
/** But a file that is written all the time must not hold up the others. */
const maxQuiet = 200;
/** A rescan of many files takes long: it is done so seldom that this part of the time goes into it. */
export const rescanShare = 1 / 20;
/** Milliseconds between two rescans at the most. */
export const maxRescanInterval = 30_000;

export function watchDirectory({ directory, interval = 1000, onChange }: WatcherOptions): Watcher {
  let pending: NodeJS.Timeout | undefined;
  let rescan: NodeJS.Timeout | undefined;
  let stopped = false;
  let firstAt = 0;
  let paths: Set<string> | undefined = new Set();

  /** Those of which nothing more is to come. */
  const whole = new Set<string>();

  function onPathChanged(path: string | null, isWhole: boolean): void {
    if (path !== null && isWhole) {
      paths?.delete(path);
      // All that the system has to tell comes before.
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

  // The rescans do without notifications where the system has none left or the directory is not there yet.
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
