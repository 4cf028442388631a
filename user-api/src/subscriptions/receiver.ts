/** Receives an operation's results: a socket or an event stream. */
import type { GraphQLFormattedError } from "graphql";

export interface Receiver {
  /** One result, as JSON. */
  next(result: string): void;
  /** The operation has failed; no result follows. */
  fail(errors: readonly GraphQLFormattedError[]): void;
  /** The operation has ended after its last result. */
  complete(): void;
}
