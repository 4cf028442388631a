/** Begins the copy of a request when its first attempt begins: its head is then complete, and its body has not begun. */
import type { AttemptObserver, ForwardPlan, LiveExchange } from "../exchange/live-exchange.ts";

export class MirroredAttempt implements AttemptObserver {
  /** The observer that saw the attempts before. */
  readonly #observer: AttemptObserver | null;
  #begin: ((forward: ForwardPlan) => void) | null;

  constructor(observer: AttemptObserver | null, begin: (forward: ForwardPlan) => void) {
    this.#observer = observer;
    this.#begin = begin;
  }

  tried(exchange: LiveExchange, forward: ForwardPlan): void {
    // The observer may set headers, such as that of the trace.
    this.#observer?.tried?.(exchange, forward);
    const begin = this.#begin;
    this.#begin = null;
    begin?.(forward);
  }

  failed(exchange: LiveExchange, error: Error): void {
    this.#observer?.failed?.(exchange, error);
  }
}
