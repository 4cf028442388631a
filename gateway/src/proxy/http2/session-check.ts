/**
 * Periodic check of a client's HTTP/2 connection. It covers two facts that Node does not report: the bytes of frames
 * other than heads and bodies, and whether the client is still reachable.
 */
import type { ServerHttp2Session } from "node:http2";
import type { Socket } from "node:net";
import { CONNECTION_WINDOW } from "./limits.ts";

/** Milliseconds between two checks. */
export const CHECK_INTERVAL = 500;
/** Result of a failed check: too many control frames, or an unreachable client. */
export type SessionFault = "flood" | "vanished";

export interface SessionCheckOptions {
  readonly session: ServerHttp2Session;
  readonly socket: Pick<Socket, "bytesRead" | "bytesWritten">;
  /** Milliseconds without data after which the client is probed by PING. */
  readonly probeInterval: number;
}

/** Bytes of a frame header. */
const FRAME = 9;
/**
 * Bytes that every client may send in addition to those that `came` counts: body bytes that have not been read yet, and
 * 64 kB of control frames. A client may also send as many bytes as the gateway has sent to it, because it answers DATA
 * with WINDOW_UPDATE and must reply to SETTINGS and PING.
 */
const ALLOWED = CONNECTION_WINDOW + 65_536;
/** Bytes forgiven at each check, for body frames that arrive after their stream was reset. */
const FORGIVEN = 16_384;
/** Time to answer the PING, as a multiple of the probe interval. */
const PATIENCE = 3 / 2;
const PAYLOAD = Buffer.from("sluice\0\0");

export class SessionCheck {
  readonly #options: SessionCheckOptions;
  /** Bytes of heads and bodies with their frame headers, plus forgiven bytes. */
  #content = 0;
  /** All bytes received up to the last check that saw new bytes. */
  #read = 0;
  /** Time by `performance.now()` of the last check that saw new bytes or a client that waits for no response. */
  #cameAt = performance.now();
  #isAsked = false;

  constructor(options: SessionCheckOptions) {
    this.#options = options;
  }

  /** Counts the bytes of a head or of a piece of a body. */
  came(bytes: number): void {
    this.#content += bytes + FRAME;
  }

  /**
   * Checks the connection, and sends a PING to a client that has been silent. Returns null if it finds no fault.
   *
   * @param expects Whether the client waits for response data; other clients are subject to other time limits
   */
  faultAt(expects: boolean, now: number): SessionFault | null {
    const { bytesRead, bytesWritten } = this.#options.socket;
    if (bytesRead - this.#content > ALLOWED + bytesWritten) return "flood";
    if (this.#content < bytesRead) this.#content = Math.min(this.#content + FORGIVEN, bytesRead);
    // Only received bytes count: the kernel accepts writes for an unreachable client too.
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
