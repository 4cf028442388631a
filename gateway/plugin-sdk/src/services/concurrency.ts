/** Slots for what may be in progress at the same time, such as requests of one client. */

/**
 * Counts the slots that are held under each name, over all workers of the node. The slots of a worker that ends, for
 * example because it crashes, are released. Implementations: thread (one worker), shared (all workers of a node). Both
 * pass the same test suite.
 */
export interface Concurrency {
  /**
   * Acquires a slot of the name. Returns false, and acquires none, if `limit` slots are held. Exact over all workers: of
   * callers that compete for slots, exactly as many get one as there are free slots. The shared implementation also
   * returns false if a worker holds slots under more names than its memory has room for: about four times
   * SLUICE_MAX_CONNECTIONS.
   */
  acquire(name: string, limit: number): boolean;
  /** Releases a slot that the same worker has acquired. To be called exactly once for each acquired slot. */
  release(name: string): void;
  /** The number of slots that are held. */
  held(name: string): number;
}
