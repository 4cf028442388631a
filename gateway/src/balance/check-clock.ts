/** The clock of work that a node repeats on its own: health checks, lookups of names, and ejections. */
export interface CheckClock {
  /** Milliseconds by a monotonic clock. */
  now(): number;
  /** Runs the callback after the delay, unless the returned function was called. */
  after(milliseconds: number, run: () => void): () => void;
}

/** Timers of Node.js that do not keep the process running. */
export const realClock: CheckClock = {
  now: () => performance.now(),
  after(milliseconds, run) {
    const timer = setTimeout(run, milliseconds).unref();
    return () => clearTimeout(timer);
  },
};
