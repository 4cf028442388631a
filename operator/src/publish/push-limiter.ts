/** The lines in which nodes wait that are to get a whole document. */
import { type ConcurrencyLimiter, createConcurrencyLimiter } from "./concurrency-limiter.ts";

/** Whole documents that are sent at once: with very many nodes they would fill memory and line, and all would be late. */
export const MAX_FULL_PUSHES = 16;

/**
 * And beside them to nodes that left the last one unanswered. A node that takes documents and never answers keeps its
 * place for as long as a push may take: many of them (behind a way that lets only short packets through) would else keep
 * those waiting that do answer, again and again.
 */
export const MAX_RETRY_PUSHES = 4;

export interface PushLimiter {
  readonly regular: ConcurrencyLimiter;
  readonly retry: ConcurrencyLimiter;
}

export const createPushLimiter = (): PushLimiter => ({
  regular: createConcurrencyLimiter(MAX_FULL_PUSHES),
  retry: createConcurrencyLimiter(MAX_RETRY_PUSHES),
});
