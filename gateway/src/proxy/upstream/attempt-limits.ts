/** The timers of a call whose service limits its attempts: pauses between them, and the timeouts of a route. */
import type { AttemptPolicy } from "../../compile/runtime.ts";

/** Bytes of a request's body that are kept, so that the request can be sent again. Longer bodies are sent once. */
export const KEPT_BODY = 65_536;

/** The longest pause, as a multiple of the shortest. */
const MAX_GROWTH = 10;

/** The part of a pause that is added at random, so that requests that failed together are not repeated together. */
const JITTER = 0.25;

export interface AttemptLimitsListener {
  /** Called when the current attempt takes too long. */
  attemptExpired(): void;
  /** Called when the request takes too long. */
  requestExpired(): void;
}

export class AttemptLimits {
  readonly policy: AttemptPolicy;
  readonly #listener: AttemptLimitsListener;
  /** By `performance.now()`. */
  readonly #deadline: number;
  readonly #request: NodeJS.Timeout | null;
  #attempt: NodeJS.Timeout | null = null;
  #pause: NodeJS.Timeout | null = null;
  #pauses = 0;

  /** @param started When the request began, by `performance.now()` */
  constructor(policy: AttemptPolicy, started: number, listener: AttemptLimitsListener) {
    const { requestTimeout } = policy;
    this.policy = policy;
    this.#listener = listener;
    this.#deadline = requestTimeout === null ? Number.POSITIVE_INFINITY : started + requestTimeout;
    this.#request =
      requestTimeout === null
        ? null
        : setTimeout(() => listener.requestExpired(), Math.max(1, this.#deadline - performance.now()));
  }

  get isPausing(): boolean {
    return this.#pause !== null;
  }

  beginAttempt(): void {
    const { attemptTimeout } = this.policy;
    if (attemptTimeout !== null) this.#attempt = setTimeout(() => this.#listener.attemptExpired(), attemptTimeout);
  }

  /** Milliseconds before the next attempt; null: the request would take too long. */
  nextPause(backoff: number): number | null {
    const growth = Math.min(2 ** this.#pauses, MAX_GROWTH);
    const pause = backoff * growth * (1 + Math.random() * JITTER);
    return performance.now() + pause < this.#deadline ? pause : null;
  }

  /** Ends the attempt, and calls `next` after the pause. */
  pause(milliseconds: number, next: () => void): void {
    this.#endAttempt();
    this.#pauses++;
    this.#pause = setTimeout(() => {
      this.#pause = null;
      next();
    }, milliseconds);
  }

  close(): void {
    this.#endAttempt();
    if (this.#request !== null) clearTimeout(this.#request);
    if (this.#pause !== null) clearTimeout(this.#pause);
    this.#pause = null;
  }

  #endAttempt(): void {
    if (this.#attempt !== null) clearTimeout(this.#attempt);
    this.#attempt = null;
  }
}
