/**
 * What is looked at from time to time on a client's connection of HTTP/2, because Node tells nothing of it: how many bytes
 * have come in frames that carry neither heads nor bodies, and whether the client is still there.
 */
import type { ServerHttp2Session } from "node:http2";
import type { Socket } from "node:net";
import { CONNECTION_WINDOW } from "./limits.ts";

/** Milliseconds between two checks. */
export const CHECK_INTERVAL = 500;
/** What is wrong with a connection: too many control frames, or its client does not answer. */
export type SessionFault = "flood" | "vanished";

export interface SessionCheckOptions {
  readonly session: ServerHttp2Session;
  readonly socket: Pick<Socket, "bytesRead" | "bytesWritten">;
  /** Milliseconds of silence after which the client is asked whether it is there, by PING. */
  readonly probeInterval: number;
}

/** Bytes of a frame without its payload. */
const FRAME = 9;
/**
 * Bytes of control frames that any client may send, with those of bodies that wait to be read. As many as were sent to it
 * are allowed besides: WINDOW_UPDATE answers DATA, and SETTINGS and PING are answers, too.
 */
const ALLOWED = CONNECTION_WINDOW + 65_536;
/** Bytes that are forgiven at each check: of bodies whose streams had been reset when they came. */
const FORGIVEN = 16_384;
/** Part of the interval that a client has for its answer. */
const PATIENCE = 3 / 2;
const PAYLOAD = Buffer.from("sluice\0\0");

export class SessionCheck {
  readonly #options: SessionCheckOptions;
  /** Bytes of heads and bodies. */
  #content = 0;
  /** Bytes that had come at the last check, and when they last were more, by `performance.now()`. */
  #read = 0;
  #cameAt = performance.now();
  #isAsked = false;

  constructor(options: SessionCheckOptions) {
    this.#options = options;
  }

  /** Bytes of a head, or of a piece of a body, have come. */
  came(bytes: number): void {
    this.#content += bytes + FRAME;
  }

  /** @param expects Whether the client waits for anything; one that does not is held to the times of idle connections */
  look(expects: boolean, now: number): SessionFault | null {
    const { bytesRead, bytesWritten } = this.#options.socket;
    if (bytesRead - this.#content > ALLOWED + bytesWritten) return "flood";
    if (this.#content < bytesRead) this.#content = Math.min(this.#content + FORGIVEN, bytesRead);
    // What is written says nothing: the system takes it for a client that is gone, too.
    if (!expects || bytesRead > this.#read) {
      this.#read = bytesRead;
      this.#cameAt = now;
      this.#isAsked = false;
      return null;
    }
    const { probeInterval, session } = this.#options;
    const silence = now - this.#cameAt;
    if (this.#isAsked) return silence >= probeInterval * (1 + PATIENCE) ? "vanished" : null;
    if (silence < probeInterval || session.destroyed) return null;
    this.#isAsked = true;
    session.ping(PAYLOAD, () => {});
    return null;
  }
}
