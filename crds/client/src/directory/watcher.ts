/** Tells that a directory may have changed: at once by the system's notifications, and every second because those fail. */
import { type FSWatcher, watch } from "node:fs";

export interface Watcher {
  stop(): void;
}

export interface WatcherOptions {
  readonly directory: string;
  /** Milliseconds between two rescans. Default 1,000. */
  readonly interval?: number;
  readonly onChange: () => void;
}

/** An editor or a copy writes in several steps: they are one change. */
const quiet = 20;
/** But a file that is written all the time must not hold up the others. */
const longestQuiet = 200;

export function watchDirectory({ directory, interval = 1000, onChange }: WatcherOptions): Watcher {
  let notifications: FSWatcher | undefined;
  let pending: NodeJS.Timeout | undefined;
  let firstAt = 0;

  function noticed(): void {
    const now = performance.now();
    if (!pending) firstAt = now;
    else if (now - firstAt > longestQuiet) return;
    clearTimeout(pending);
    pending = setTimeout(() => {
      pending = undefined;
      onChange();
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
    onChange();
  }, interval);
  return {
    stop() {
      clearInterval(rescan);
      clearTimeout(pending);
      notifications?.close();
    },
  };
}
