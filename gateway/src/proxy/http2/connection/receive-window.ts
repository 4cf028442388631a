/** The window of a stream that the gateway receives (RFC 9113 section 5.2). */
import { STREAM_WINDOW } from "../limits.ts";

export class ReceiveWindow {
  /** Bytes that the peer may still send. */
  #left = STREAM_WINDOW;
  /** Bytes that were consumed since the window was last widened. */
  #consumed = 0;

  /** Counts a DATA frame of this length, with its padding. Returns false when it exceeds the window. */
  takesFrame(length: number): boolean {
    this.#left -= length;
    return this.#left >= 0;
  }

  /**
   * Counts bytes that need not be kept any more.
   *
   * @returns Bytes by which the window is to be widened; 0: not now
   */
  consume(bytes: number): number {
    this.#consumed += bytes;
    const more = this.#consumed;
    if (more < STREAM_WINDOW / 2) return 0;
    this.#left += more;
    this.#consumed = 0;
    return more;
  }
}
