/** Lets a few at once through, the others one after the other as places become free. */
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
      // The place goes from hand to hand: nobody who comes meanwhile takes it.
      if (next) next();
      else free++;
    }
  };
}
