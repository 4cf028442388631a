/** Limits for sockets and event streams. Each is a setting. */

/** Bounds on what clients may hold. */
export interface LiveLimits {
  /** Sockets and event streams that may be open at a time. */
  readonly connections: number;
  /** Sockets and event streams per client; 0: unlimited. */
  readonly clientConnections: number;
  /** Bytes of memory for the requests and documents of one client's operations. */
  readonly clientBytes: number;
  /** Concurrent operations per socket. */
  readonly operations: number;
  /** Bytes that may be buffered for one operation of a socket. */
  readonly operationBytes: number;
  /** Bytes that may be buffered for one socket or event stream. */
  readonly connectionBytes: number;
  /** The time for a client to send `connection_init`. */
  readonly initMilliseconds: number;
  /** The interval of pings and comments by which both sides detect a dead connection. */
  readonly heartbeatMilliseconds: number;
}

export const defaultLiveLimits: LiveLimits = {
  connections: 20_000,
  // All users behind one API key are one consumer, so it gets a quarter of all connections.
  clientConnections: 5_000,
  clientBytes: 8 * 1024 * 1024,
  operations: 100,
  operationBytes: 256 * 1024,
  connectionBytes: 1024 * 1024,
  initMilliseconds: 3_000,
  heartbeatMilliseconds: 20_000,
};
