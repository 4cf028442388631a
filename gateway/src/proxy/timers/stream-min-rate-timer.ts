/**
 * Time limits for a stream whose client has to send a body or read a response. The streams of a connection share its
 * bandwidth and wait for each other, in an order that the sender chooses (RFC 9218 sections 9 and 10). Bytes on the
 * connection, in either direction and of any stream, therefore add time for all of them. For a single stream only
 * silence is limited, and its silence does not count while another stream of the same kind makes progress.
 */
import type { Socket } from "node:net";
import { IdleTimer } from "./idle-timer.ts";
import { type MinRateLimits, MinRateTimer } from "./min-rate-timer.ts";

/** The common progress of all streams of a connection that receive a body, or of all that send a response. */
export class ConnectionActivity {
  readonly limits: MinRateLimits;
  /** Milliseconds so far during which at least one of the streams made progress. */
  moving = 0;
  readonly #line: Pick<Socket, "bytesRead" | "bytesWritten">;
  /** Time up to which `moving` has been counted. */
  #counted = 0;

  constructor(limits: MinRateLimits, line: Pick<Socket, "bytesRead" | "bytesWritten">) {
    this.limits = limits;
    this.#line = line;
  }

  /** Bytes transferred on the connection. */
  get passed(): number {
    return this.#line.bytesRead + this.#line.bytesWritten;
  }

  /** Called when one of the streams has made progress; its previous progress was at `from`. */
  moved(from: number, now: number): void {
    this.moving += now - Math.max(from, this.#counted);
    this.#counted = now;
  }
}

export interface StreamMinRateTimerOptions {
  /** Bytes of the stream transferred so far. */
  readonly bytes: () => number;
  /** Called once when the time limit is exceeded. */
  readonly onLate: () => void;
}

export class StreamMinRateTimer {
  readonly #turns: ConnectionActivity;
  readonly #bytes: () => number;
  readonly #onLate: () => void;
  readonly #watchdog = new IdleTimer(() => this.#checkRate());
  readonly #pace: MinRateTimer;
  #owes = false;
  #seen = 0;
  /** Time of the stream's last progress, by `performance.now()`. */
  #movedAt = 0;
  /** `ConnectionActivity.moving` at the stream's last progress. */
  #moving = 0;

  constructor(turns: ConnectionActivity, { bytes, onLate }: StreamMinRateTimerOptions) {
    this.#turns = turns;
    this.#bytes = bytes;
    this.#onLate = onLate;
    this.#pace = new MinRateTimer(this.#watchdog, turns.limits);
    this.#pace.reset(turns.passed);
  }

  /** Starts to count time, because data is due. */
  run(): void {
    this.#settle(performance.now());
    this.#owes = true;
    this.#pace.resume(this.#turns.passed);
  }

  /** Stops counting time, because no data is due. */
  pause(): void {
    if (!this.#owes) return;
    this.#settle(performance.now());
    this.#owes = false;
    this.#pace.pause(this.#turns.passed);
  }

  /** Stops the timer permanently. */
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

  /** Called when the watchdog expires. Only here is the progress of the other streams taken into account. */
  #checkRate(): void {
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
