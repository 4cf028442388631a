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

/**
 * An operation from its begin to its end. It keeps no reference to the request: a subscription may live for long, and
 * the text and variables of its request must not stay in memory.
 */
export class ActiveOperation implements Receiver {
  readonly #receiver: Receiver;
  readonly #ends: (() => void)[] = [];
  #ended = false;

  constructor(receiver: Receiver) {
    this.#receiver = receiver;
  }

  get ended(): boolean {
    return this.#ended;
  }

  next(result: string): void {
    if (!this.#ended) this.#receiver.next(result);
  }

  fail(errors: Parameters<Receiver["fail"]>[0]): void {
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

  /** The receiver has left. */
  end(): void {
    this.#ended = true;
    for (const end of this.#ends.splice(0)) end();
  }
}
