/** Limits how many nodes receive a full document concurrently. */

/**
 * Maximum number of full documents that are sent concurrently, not counting the retries that MAX_RETRY_PUSHES limits.
 * More would fill memory and bandwidth, and would delay all nodes.
 */
export const MAX_FULL_PUSHES = 16;

/**
 * Maximum number of full documents that are sent concurrently to nodes that left the last one unanswered. A node that
 * accepts documents and never answers occupies its place until the push times out. Without a separate limit, many such
 * nodes (for example behind a path that drops large packets) would repeatedly delay the nodes that do answer.
 */
export const MAX_RETRY_PUSHES = 4;

export const createPushLimiter = () => ({
  regular: createConcurrencyLimiter(MAX_FULL_PUSHES),
  retry: createConcurrencyLimiter(MAX_RETRY_PUSHES),
});

export type PushLimiter = ReturnType<typeof createPushLimiter>;

/** Returns a function that runs at most this many calls concurrently. Further calls wait in order of arrival. */
export function createConcurrencyLimiter(places: number) {
  const queue: (() => void)[] = [];
  let free = places;
  return async <Result>(run: () => Promise<Result>): Promise<Result> => {
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
