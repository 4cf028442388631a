/** What a turn has to say to a socket: heads and small bodies leave in one write, large pieces as they are. */
import type { Socket } from "node:net";

/** Bytes that Node writes as text without another allocation (its stack buffer). */
const JOINED = 16_384;

export class Outbox {
  readonly #socket: Socket;
  /** One character for one byte. */
  #text = "";
  #corked = false;
  /** Bytes so far. */
  written = 0;

  constructor(socket: Socket) {
    this.#socket = socket;
  }

  text(text: string): void {
    this.#text += text;
    this.written += text.length;
  }

  /** @param isLasting False: the piece is copied when the socket has to keep it. Else it must not change any more. */
  bytes(piece: Buffer, isLasting: boolean): void {
    this.written += piece.length;
    if (this.#text.length + piece.length <= JOINED) {
      this.#text += piece.toString("latin1");
      return;
    }
    if (!this.#corked) this.#socket.cork();
    this.#corked = true;
    this.#writeText();
    this.#socket.write(isLasting ? piece : Buffer.from(piece));
  }

  /** Nothing stays behind. False: the other side takes less than it is sent; "drain" tells when to go on. */
  flush(): boolean {
    this.#writeText();
    if (this.#corked) this.#socket.uncork();
    this.#corked = false;
    return !this.#socket.writableNeedDrain;
  }

  #writeText(): void {
    if (this.#text === "") return;
    this.#socket.write(this.#text, "latin1");
    this.#text = "";
  }
}
