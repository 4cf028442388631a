/** Limits for one request, and for sockets and event streams. Each is a setting. */
import type { GraphQLError } from "graphql";
import { failure } from "../errors.ts";

export interface Limits {
  /** Tokens of a document; the standard introspection query has about 250. Prevents a stack overflow in the parser. */
  readonly tokens: number;
  /** Nesting depth of fields: `{ users { name } }` has depth 2. Introspection does not count. */
  readonly depth: number;
  /** Aliased fields in a document. */
  readonly aliases: number;
  /** Fields of the root type in one operation. */
  readonly rootFields: number;
  /** Field values that a result may hold, as estimated in advance (see measures.ts). */
  readonly cost: number;
  /** Nesting depth of lists and objects in the variables. */
  readonly variablesDepth: number;
  /**
   * Bytes of a request body or a WebSocket message. Documents are cached by their text, so it bounds that memory too.
   */
  readonly bytes: number;
  /** The time for a complete request to arrive; a slow or silent client's connection ends with 408. */
  readonly receiveMilliseconds: number;
  /** The time for executing an operation. Statements that run in the database have a limit of their own. */
  readonly milliseconds: number;
  /** Users in one list. */
  readonly page: number;
}

export const defaultLimits: Limits = {
  tokens: 1_000,
  depth: 8,
  aliases: 30,
  rootFields: 10,
  cost: 50_000,
  variablesDepth: 8,
  bytes: 128 * 1024,
  receiveMilliseconds: 30_000,
  milliseconds: 10_000,
  page: 1_000,
};

/** The error for a value beyond a limit; `unit` describes what was counted. */
export function limitExceeded(limit: keyof Limits, limits: Limits, unit: string): GraphQLError {
  const maximum = limits[limit];
  return failure("LIMIT_EXCEEDED", `${unit}; the limit is ${maximum}`, { limit, maximum });
}

/** Bounds on what clients may hold. */
export interface SubscriptionLimits {
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

export const defaultSubscriptionLimits: SubscriptionLimits = {
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
