/** Checks that a client sends its body while it is being read: periodically, not for every piece. */
import type { IncomingMessage } from "node:http";
import { IdleTimer } from "../timers/idle-timer.ts";
import { type MinRateLimits, MinRateTimer } from "../timers/min-rate-timer.ts";

export class RequestBodyTimer {
  readonly #incoming: IncomingMessage;
  readonly #onLate: () => void;
  readonly #watchdog = new IdleTimer(() => this.#look());
  readonly #pace: MinRateTimer;
  /** Bytes at the last check. */
  #seen: number;

  /** @param onLate Called once, when the body has not arrived in time */
  constructor(incoming: IncomingMessage, limits: MinRateLimits, onLate: () => void) {
    this.#incoming = incoming;
    this.#onLate = onLate;
    this.#pace = new MinRateTimer(this.#watchdog, limits);
    this.#seen = incoming.socket.bytesRead;
    this.#pace.reset(this.#seen);
    const close = () => this.#watchdog.close();
    incoming
      .on("resume", () => {
        if (!incoming.readableEnded) this.#pace.resume(this.#bytes);
      })
      .on("pause", () => this.#pace.pause(this.#bytes))
      .once("end", close)
      .once("close", close);
  }

  get #bytes(): number {
    return this.#incoming.socket.bytesRead;
  }

  #look(): void {
    const bytes = this.#bytes;
    const isSilent = bytes === this.#seen;
    this.#seen = bytes;
    if (!isSilent && this.#pace.resume(bytes) > 0) return;
    this.#watchdog.close();
    this.#onLate();
  }
}
