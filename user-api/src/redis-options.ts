/** The options of all connections to Redis. */
import type { RedisOptions } from "ioredis";

/**
 * Milliseconds before the next attempt, after this number of failures in a row: 100, doubled with each further failure,
 * at most 1,000.
 */
export const retryDelay = (failures: number): number => Math.min(1_000, 50 * 2 ** Math.min(failures, 10));

/** Options with which no command waits longer than `milliseconds`, even if Redis is absent or does not respond. */
export const failFastOptions = (milliseconds: number): RedisOptions => ({
  retryStrategy: retryDelay,
  connectTimeout: milliseconds,
  commandTimeout: milliseconds,
  // If no data arrives for this time while a command waits, the connection is closed, which ends the wait of all
  // commands. This also bounds a graceful close.
  socketTimeout: milliseconds,
  // Commands fail at once while disconnected: a command that cannot be sent now is dropped, not sent later.
  enableOfflineQueue: false,
  autoResendUnfulfilledCommands: false,
  maxRetriesPerRequest: 0,
});
