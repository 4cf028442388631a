/** Runs at most a fixed number of calls at once. The others wait in order of arrival. */
export type ConcurrencyLimiter = <Result>(run: () => Promise<Result>) => Promise<Result>;

export function createConcurrencyLimiter(places: number): ConcurrencyLimiter {
  const queue: (() => void)[] = [];
  let free = places;
  return async (run) => {
    if (free > 0) free--;
    else await new Promise<void>((resolve) => queue.push(resolve));
    try {
      return await run();
    } finally {
      const next = queue.shift();
      // The place passes directly to the next waiting call, so that a new caller cannot take it.
      if (next) next();
      else free++;
    }
  };
}
