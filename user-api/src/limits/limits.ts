/** Bounds on what one request may ask. Each is a setting. */
import type { GraphQLError } from "graphql";
import { failure } from "../errors.ts";

export interface Limits {
  /** Tokens of a document; the standard introspection query has about 250. Keeps the parser off the stack's end. */
  readonly tokens: number;
  /** How deep fields may nest: `{ users { name } }` has the depth 2. Introspection does not count. */
  readonly depth: number;
  /** Fields of a document that are given another name. */
  readonly aliases: number;
  /** Fields of the root type in one operation. */
  readonly rootFields: number;
  /** Field values that an answer may hold, as far as can be told in advance (see cost.ts). */
  readonly cost: number;
  /** How deep lists and objects may nest in the variables. */
  readonly variablesDepth: number;
  /** A request's body, or a message of a WebSocket. Documents are kept by their text, so it bounds that memory too. */
  readonly bytes: number;
  /** Until a request has come as a whole: one that drips or falls silent ends its connection with 408. */
  readonly receiveMilliseconds: number;
  /** Until an operation is answered. What it has begun in the database is bounded there. */
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

/** The error for what is beyond a limit; `unit` says what was counted. */
export function beyond(limit: keyof Limits, limits: Limits, unit: string): GraphQLError {
  const maximum = limits[limit];
  return failure("LIMIT_EXCEEDED", `${unit}; the limit is ${maximum}`, { limit, maximum });
}
