/** How a client takes what it is sent: no slower than its pace, while something waits for it. */
import type { Socket } from "node:net";
import type { Outbox } from "./outbox.ts";
import { Pace, type PaceLimits } from "./pace.ts";
import { Watchdog } from "./watchdog.ts";

export interface TakingOptions {
  readonly out: Outbox;
  readonly limits: PaceLimits;
  readonly onLate: () => void;
}

export class Taking {
  readonly #socket: Socket;
  readonly #out: Outbox;
  /** Runs while the client takes nothing. */
  readonly #stall: Watchdog;
  readonly #pace: Pace;
  /** The request whose answer is being taken slowly. */
  #slow = -1;

  constructor(socket: Socket, { out, limits, onLate }: TakingOptions) {
    this.#socket = socket;
    this.#out = out;
    this.#stall = new Watchdog(onLate);
    this.#pace = new Pace(this.#stall, limits);
  }

  /** Something waits. @param request Whose answer it is; each has its grace */
  wait(request: number): void {
    if (this.#slow !== request) this.#pace.begin(this.#taken);
    this.#slow = request;
    this.#pace.run(this.#taken);
  }

  /** Nothing waits any more. */
  drained(): void {
    this.#pace.pause(this.#taken);
  }

  stop(): void {
    this.#stall.stop();
  }

  close(): void {
    this.#stall.close();
  }

  /** Bytes so far. */
  get #taken(): number {
    return this.#out.written - this.#socket.writableLength;
  }
}
