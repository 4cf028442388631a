/** Limits for one request. Each is a setting. */
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
  /** Field values that a result may hold, as estimated in advance (see cost.ts). */
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
export function beyond(limit: keyof Limits, limits: Limits, unit: string): GraphQLError {
  const maximum = limits[limit];
  return failure("LIMIT_EXCEEDED", `${unit}; the limit is ${maximum}`, { limit, maximum });
}
