/**
 * How long a stream may go on whose client owes bytes of a body, or has to take those of a response. Streams share the line
 * of their connection and wait for each other, in an order that is the sender's to choose (RFC 9218 sections 9 and 10): what passes
 * on the connection, either way and of whatever stream, buys time for all of them. Of a stream by itself only silence is
 * limited, and that runs while no other one moves that owes the same.
 */
import type { Socket } from "node:net";
import { IdleTimer } from "../http1/idle-timer.ts";
import { type MinRateLimits, MinRateTimer } from "../http1/min-rate-timer.ts";

/** The streams of one connection that owe the same. */
export class ConnectionActivity {
  readonly limits: MinRateLimits;
  /** Milliseconds in which one of them was on its way so far. */
  moving = 0;
  readonly #line: Pick<Socket, "bytesRead" | "bytesWritten">;
  /** Until when that is counted. */
  #counted = 0;

  constructor(limits: MinRateLimits, line: Pick<Socket, "bytesRead" | "bytesWritten">) {
    this.limits = limits;
    this.#line = line;
  }

  /** Bytes that have passed on the connection. */
  get passed(): number {
    return this.#line.bytesRead + this.#line.bytesWritten;
  }

  /** One of them has moved, and had not since `from`. */
  moved(from: number, now: number): void {
    this.moving += now - Math.max(from, this.#counted);
    this.#counted = now;
  }
}

export interface StreamMinRateTimerOptions {
  /** Bytes of the stream that have come or were taken so far. */
  readonly bytes: () => number;
  /** Told when the time is over. */
  readonly onLate: () => void;
}

export class StreamMinRateTimer {
  readonly #turns: ConnectionActivity;
  readonly #bytes: () => number;
  readonly #onLate: () => void;
  readonly #watchdog = new IdleTimer(() => this.#look());
  readonly #pace: MinRateTimer;
  #owes = false;
  #seen = 0;
  /** By `performance.now()`. */
  #movedAt = 0;
  /** `Turns.moving` at that time. */
  #moving = 0;

  constructor(turns: ConnectionActivity, { bytes, onLate }: StreamMinRateTimerOptions) {
    this.#turns = turns;
    this.#bytes = bytes;
    this.#onLate = onLate;
    this.#pace = new MinRateTimer(this.#watchdog, turns.limits);
    this.#pace.reset(turns.passed);
  }

  /** More is owed. */
  run(): void {
    this.#settle(performance.now());
    this.#owes = true;
    this.#pace.resume(this.#turns.passed);
  }

  /** Nothing is owed for now. */
  pause(): void {
    if (!this.#owes) return;
    this.#settle(performance.now());
    this.#owes = false;
    this.#pace.pause(this.#turns.passed);
  }

  /** Nothing will be owed any more. */
  close(): void {
    this.pause();
    this.#watchdog.close();
  }

  #settle(now: number): void {
    const bytes = this.#bytes();
    if (this.#owes) {
      if (bytes === this.#seen) return;
      this.#turns.moved(this.#movedAt, now);
    }
    this.#seen = bytes;
    this.#movedAt = now;
    this.#moving = this.#turns.moving;
  }

  /** What others have moved is seen only now. */
  #look(): void {
    const turns = this.#turns;
    const now = performance.now();
    this.#settle(now);
    const silence = now - this.#movedAt - (turns.moving - this.#moving);
    const left = turns.limits.silence - silence;
    if (left > 0 && this.#pace.resume(turns.passed, left) > 0) return;
    this.close();
    this.#onLate();
  }
}
