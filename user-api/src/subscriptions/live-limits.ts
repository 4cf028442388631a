/** Bounds on sockets and event streams. Each is a setting. */

/** Bounds on what clients may hold. */
export interface LiveLimits {
  /** Sockets and event streams that may be open together. */
  readonly connections: number;
  /** Those of them that one client may have; 0: any number. */
  readonly clientConnections: number;
  /** Bytes that the requests and documents of one client's operations may take. */
  readonly clientBytes: number;
  /** Operations that one socket may have under way. */
  readonly operations: number;
  /** Bytes that may wait for one operation of a socket. */
  readonly operationBytes: number;
  /** Bytes that may wait for one socket or event stream. */
  readonly connectionBytes: number;
  /** How long a client may take for `connection_init`. */
  readonly initMilliseconds: number;
  /** How often a client must show that it is there, and is shown that we are. */
  readonly heartbeatMilliseconds: number;
}

export const defaultLiveLimits: LiveLimits = {
  connections: 20_000,
  // Whoever comes by a route with one key is one consumer, and so are all users behind it: a quarter of what there is.
  clientConnections: 5_000,
  clientBytes: 8 * 1024 * 1024,
  operations: 100,
  operationBytes: 256 * 1024,
  connectionBytes: 1024 * 1024,
  initMilliseconds: 3_000,
  heartbeatMilliseconds: 20_000,
};
