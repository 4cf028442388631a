/** Delays between attempts, like client-go's reflector: 0.8 s, doubling to 30 s, each up to twice as long by jitter. */
export interface Backoff {
  /** Milliseconds to wait before the next attempt. */
  next(): number;
  /** After a success: the next delay is the shortest again. */
  reset(): void;
}

const first = 800;
const longest = 30_000;

export function createBackoff(random: () => number): Backoff {
  let base = first;
  return {
    next() {
      const wait = Math.min(base * (1 + random()), longest);
      base = Math.min(base * 2, longest);
      return wait;
    },
    reset() {
      base = first;
    },
  };
}
