/** Collects the writes of one event loop turn: heads and small bodies leave in one write, large pieces unchanged. */
import type { Socket } from "node:net";
import type { ByteView, HeldBytes } from "./byte-view.ts";

/** Maximum bytes that Node writes as text without another allocation (its stack buffer). */
const MAX_JOINED = 16_384;
/** Reading from the other side pauses when this many bytes are waiting in the socket. */
const HIGH_WATER_MARK = 262_144;

export class WriteQueue {
  readonly #socket: Socket;
  /** Latin-1: one character per byte. */
  #text = "";
  /** Written before the text. */
  #held: HeldBytes | null = null;
  #corked = false;
  /** Bytes queued so far, whether written yet or not. */
  written = 0;

  constructor(socket: Socket) {
    this.#socket = socket;
  }

  text(text: string): void {
    if (this.#held !== null) this.#cork();
    this.#text += text;
    this.written += text.length;
  }

  /** Queues the bytes; they are copied into the queued text when both can be written together. */
  bytes(view: ByteView): void {
    this.written += view.length;
    if (this.#held === null && this.#text.length + view.length <= MAX_JOINED) {
      this.#text += view.latin1();
      return;
    }
    if (this.#held !== null || this.#text !== "") this.#cork();
    this.#held = view.hold();
  }

  /** Writes everything. Returns false when the socket's buffer is full; "drain" follows. */
  flush(): boolean {
    this.#write();
    if (this.#corked) this.#socket.uncork();
    this.#corked = false;
    return this.#socket.writableLength < HIGH_WATER_MARK;
  }

  /** Combines the pending data with later writes. */
  #cork(): void {
    if (!this.#corked) this.#socket.cork();
    this.#corked = true;
    this.#write();
  }

  #write(): void {
    this.#held?.writeTo(this.#socket);
    this.#held = null;
    if (this.#text === "") return;
    this.#socket.write(this.#text, "latin1");
    this.#text = "";
  }
}
