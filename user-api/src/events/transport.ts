/** What carries messages between replicas. Implementations: Redis and Postgres' LISTEN/NOTIFY. */

export interface Transport {
  /** Sends to all replicas, this one too. Rejects when the message cannot have left. */
  publish(text: string): Promise<void>;
  /** Whether messages of others reach this replica. */
  connected(): boolean;
  close(): Promise<void>;
}

/** What a transport tells. */
export interface TransportListener {
  message(text: string): void;
  /** From now on messages may be missed. */
  lost(error: Error): void;
  /** Messages come (again). Told at the first connection too. */
  connected(): void;
}

/** Does not wait for the other side: a service whose Redis is away starts all the same. */
export type OpenTransport = (listener: TransportListener) => Transport;

/** How often a connection must show that it works, in milliseconds: one that died without a word tells nothing. */
export const HEARTBEAT = 5_000;

/** How long to wait for the next attempt after `failures` in a row: 50 ms, doubling, at most 1 s. */
export const pause = (failures: number): number => Math.min(1_000, 50 * 2 ** Math.min(failures, 10));
