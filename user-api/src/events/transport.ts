/** Carries messages between replicas. Implementations: Redis and LISTEN/NOTIFY of Postgres. */

export interface Transport {
  /** Sends to all replicas, this one included. Rejects when the message cannot have been sent. */
  publish(text: string): Promise<void>;
  /** Whether messages of other replicas arrive. */
  connected(): boolean;
  close(): Promise<void>;
}

/** The callbacks of a transport. */
export interface TransportListener {
  message(text: string): void;
  /** From now on messages may be missed. */
  lost(error: Error): void;
  /** Messages arrive (again). Also called for the first connection. */
  connected(): void;
}

/** Returns without waiting for a connection: the service starts even when Redis is down. */
export type OpenTransport = (listener: TransportListener) => Transport;

/** Milliseconds between checks of a connection, because a connection can die without being closed. */
export const HEARTBEAT = 5_000;

/** The delay before the next attempt after `failures` failures in a row: 50 ms, doubling, at most 1 s. */
export const pause = (failures: number): number => Math.min(1_000, 50 * 2 ** Math.min(failures, 10));
