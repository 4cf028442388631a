/** The interfaces that sockets and streams share: a connection to a client, and operations that write results to it. */
import type { GraphQLFormattedError } from "graphql";
import { createFailure } from "../errors.ts";

export interface Connection {
  readonly kind: "socket" | "stream";
  /**
   * Call this once per heartbeat interval. Sends a ping to a socket or a comment to a stream. A socket that has sent
   * nothing since the previous ping is ended instead.
   */
  beat(): void;
  /** Ends the connection after its buffered data, because the server shuts down. */
  close(): void;
  terminate(): void;
}

export const SLOW_CLIENT = "This client reads its events too slowly";
export const slowClient = (): GraphQLFormattedError => createFailure("SLOW_CONSUMER", SLOW_CLIENT).toJSON();

export interface OperationReceiver {
  /** Receives one result, as JSON. */
  next(result: string): void;
  /** Called when the operation has failed; no result follows. */
  fail(errors: readonly GraphQLFormattedError[]): void;
  /** Called when the operation has ended after its last result. */
  complete(): void;
}

/**
 * An operation that has been started. Once it has ended, its receiver gets nothing more. The operation keeps no
 * reference to the request: a subscription may stay open for a long time, and the text and variables of its request
 * must not stay in memory.
 */
export class ActiveOperation implements OperationReceiver {
  readonly #receiver: OperationReceiver;
  readonly #ends: (() => void)[] = [];
  #ended = false;

  constructor(receiver: OperationReceiver) {
    this.#receiver = receiver;
  }

  get ended(): boolean {
    return this.#ended;
  }

  next(result: string): void {
    if (!this.#ended) this.#receiver.next(result);
  }

  fail(errors: readonly GraphQLFormattedError[]): void {
    if (this.#ended) return;
    this.end();
    this.#receiver.fail(errors);
  }

  complete(): void {
    if (this.#ended) return;
    this.end();
    this.#receiver.complete();
  }

  /** Registers a callback for the end; called at once if the operation has ended. */
  onEnd(end: () => void): void {
    if (this.#ended) end();
    else this.#ends.push(end);
  }

  /** Ends the operation without calling the receiver, for example because the receiver has left. */
  end(): void {
    this.#ended = true;
    for (const end of this.#ends.splice(0)) end();
  }
}
