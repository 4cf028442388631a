/** Calls observers; an error thrown by one does not end the watch. */
import type { Log } from "./log.ts";
import type { Kind } from "./resource.ts";

/** Returns a function that makes the given call and logs its error. After the abort, it makes no call. */
export function createNotifier(options: { kind: Kind; log: Log; signal: AbortSignal }): (call: () => void) => void {
  const { kind, log, signal } = options;
  return (call) => {
    if (signal.aborted) return;
    try {
      call();
    } catch (error) {
      log.error({ kind, error }, "an observer of resources threw; it still receives the next change");
    }
  };
}
