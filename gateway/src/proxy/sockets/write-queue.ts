/** Collects the writes of one event loop turn: heads and small bodies leave in one write, large pieces unchanged. */
import type { Socket } from "node:net";
import { type Slab, sharedSlab, takeSlab, WORTHWHILE } from "./slab.ts";

/** Bytes that Node writes as text without another allocation (its stack buffer). */
const MAX_JOINED = 16_384;
/** Bytes waiting in the socket above which the other side's reading pauses. */
const HIGH_WATER_MARK = 262_144;

export class WriteQueue {
  readonly #socket: Socket;
  /** Latin-1: one character per byte. */
  #text = "";
  /** Written before the text. */
  #piece: Buffer | null = null;
  #slab: Slab | null = null;
  #corked = false;
  /** Bytes written so far. */
  written = 0;

  constructor(socket: Socket) {
    this.#socket = socket;
  }

  text(text: string): void {
    if (this.#piece !== null) this.#cork();
    this.#text += text;
    this.written += text.length;
  }

  /**
   * Queues the bytes from `start` to `end`; no buffer is needed when they are written with the text.
   *
   * @param slab Slab that contains them; null: they do not change any more.
   */
  range(bytes: Buffer, start: number, end: number, slab: Slab | null): void {
    const size = end - start;
    this.written += size;
    if (this.#piece === null && this.#text.length + size <= MAX_JOINED)
      this.#text += bytes.toString("latin1", start, end);
    else this.#add(bytes.subarray(start, end), slab);
  }

  /** Queues the whole piece. */
  bytes(piece: Buffer, slab: Slab | null): void {
    this.range(piece, 0, piece.length, slab);
  }

  #add(piece: Buffer, slab: Slab | null): void {
    if (this.#piece !== null || this.#text !== "") this.#cork();
    if (slab === sharedSlab && piece.length < WORTHWHILE) {
      this.#slab = null;
      this.#piece = Buffer.from(piece);
    } else if (slab === sharedSlab) {
      this.#slab = takeSlab();
      this.#piece = this.#slab.bytes.subarray(0, piece.copy(this.#slab.bytes));
    } else {
      slab?.hold();
      this.#slab = slab;
      this.#piece = piece;
    }
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
    const piece = this.#piece;
    if (piece !== null) {
      if (this.#slab === null) this.#socket.write(piece);
      else this.#socket.write(piece, this.#slab.release);
      this.#piece = null;
      this.#slab = null;
    }
    if (this.#text === "") return;
    this.#socket.write(this.#text, "latin1");
    this.#text = "";
  }
}
