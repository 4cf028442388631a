import type { Receiver } from "./receiver.ts";

/**
 * An operation that has begun, until its end. It has nothing of the request: a subscription lives for as long as its
 * client likes, and the text and the variables that it began with must not.
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

  /** Called at the end, or at once when that is over. */
  onEnd(end: () => void): void {
    if (this.#over) end();
    else this.#ends.push(end);
  }

  /** Nobody wants to hear more. */
  end(): void {
    this.#over = true;
    for (const end of this.#ends.splice(0)) end();
  }
}
