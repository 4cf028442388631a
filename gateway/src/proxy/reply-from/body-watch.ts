/** Whether a client sends its body, as long as somebody reads it: looked at from time to time, and not with every piece. */
import type { IncomingMessage } from "node:http";
import { Pace, type PaceLimits } from "../http1/pace.ts";
import { Watchdog } from "../http1/watchdog.ts";

export class BodyWatch {
  readonly #incoming: IncomingMessage;
  readonly #onLate: () => void;
  readonly #watchdog = new Watchdog(() => this.#look());
  readonly #pace: Pace;
  /** Bytes at the last look. */
  #seen: number;

  /** @param onLate Told once, when the body has not come in time */
  constructor(incoming: IncomingMessage, limits: PaceLimits, onLate: () => void) {
    this.#incoming = incoming;
    this.#onLate = onLate;
    this.#pace = new Pace(this.#watchdog, limits);
    this.#seen = incoming.socket.bytesRead;
    this.#pace.begin(this.#seen);
    const close = () => this.#watchdog.close();
    incoming
      .on("resume", () => {
        if (!incoming.readableEnded) this.#pace.run(this.#bytes);
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
    if (!isSilent && this.#pace.run(bytes) > 0) return;
    this.#watchdog.close();
    this.#onLate();
  }
}
