/** Tells that a directory may have changed: at once by the system's notifications, and every second because those fail. */
import { type FSWatcher, watch } from "node:fs";

export interface Watcher {
  stop(): void;
}

export interface WatcherOptions {
  readonly directory: string;
  /** Milliseconds between two rescans. Default 1,000. */
  readonly interval?: number;
  /** The paths that changed, relative to the directory; undefined: any may have. */
  readonly onChange: (paths: ReadonlySet<string> | undefined) => void;
}

/** An editor or a copy writes in several steps: they are one change. */
const quiet = 20;
/** But a file that is written all the time must not hold up the others. */
const longestQuiet = 200;

export function watchDirectory({ directory, interval = 1000, onChange }: WatcherOptions): Watcher {
  let notifications: FSWatcher | undefined;
  let pending: NodeJS.Timeout | undefined;
  let firstAt = 0;
  let paths: Set<string> | undefined = new Set();

  function noticed(_event: string, path: string | null): void {
    if (path === null) paths = undefined;
    else paths?.add(path);
    const now = performance.now();
    if (!pending) firstAt = now;
    else if (now - firstAt > longestQuiet) return;
    clearTimeout(pending);
    pending = setTimeout(() => {
      pending = undefined;
      const changed = paths;
      paths = new Set();
      onChange(changed);
    }, quiet);
  }

  function listen(): void {
    if (notifications) return;
    try {
      // The rescans do without notifications where the system has none left or the directory is not there yet.
      notifications = watch(directory, { recursive: true }, noticed);
      notifications.on("error", () => {
        notifications?.close();
        notifications = undefined;
      });
    } catch {
      notifications = undefined;
    }
  }

  listen();
  const rescan = setInterval(() => {
    listen();
    onChange(undefined);
  }, interval);
  return {
    stop() {
      clearInterval(rescan);
      clearTimeout(pending);
      notifications?.close();
    },
  };
}
