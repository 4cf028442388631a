import type { Receiver } from "./receiver.ts";

/**
 * An operation from its begin to its end. It keeps no reference to the request: a subscription may live for long, and
 * the text and variables of its request must not stay in memory.
 */
export class Begun implements Receiver {
  readonly #receiver: Receiver;
  readonly #ends: (() => void)[] = [];
  #over = false;

  constructor(receiver: Receiver) {
    this.#receiver = receiver;
  }

  get over(): boolean {
    return this.#over;
  }

  next(result: string): void {
    if (!this.#over) this.#receiver.next(result);
  }

  fail(errors: Parameters<Receiver["fail"]>[0]): void {
    if (this.#over) return;
    this.end();
    this.#receiver.fail(errors);
  }

  complete(): void {
    if (this.#over) return;
    this.end();
    this.#receiver.complete();
  }

  /** Registers a callback for the end; called at once if the operation has ended. */
  onEnd(end: () => void): void {
    if (this.#over) end();
    else this.#ends.push(end);
  }

  /** The receiver has left. */
  end(): void {
    this.#over = true;
    for (const end of this.#ends.splice(0)) end();
  }
}
