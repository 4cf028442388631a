/**
 * Bytes that were read from a socket, without a copy. They may lie in memory that the next read overwrites, so a view
 * is valid only during the call that passes it. A receiver that needs them for longer either copies them (`keep`) or
 * holds them until a stream has written them (`hold`). Receivers outside this folder need not count or release
 * references to the memory.
 */
import type { Writable } from "node:stream";
import { MIN_SLAB_BYTES, type Slab, sharedSlab, takeSlab } from "./slab.ts";

/** Bytes up to which kept pieces are joined. */
const MOST_JOINED = 2048;

export class ByteView {
  /** The memory that was read into; the view is its part from `start` to `end`. */
  readonly bytes: Buffer;
  readonly start: number;
  readonly end: number;
  /** Contains the bytes; null: they are in memory that does not change any more. */
  readonly #slab: Slab | null;

  /** @param slab Contains the bytes; null: they are in memory that does not change any more */
  constructor(bytes: Buffer, start: number, end: number, slab: Slab | null) {
    this.bytes = bytes;
    this.start = start;
    this.end = end;
    this.#slab = slab;
  }

  /** A view of memory that does not change any more. */
  static of(bytes: Buffer): ByteView {
    return new ByteView(bytes, 0, bytes.length, null);
  }

  get length(): number {
    return this.end - this.start;
  }

  /** A part of the bytes, by offsets in `bytes`. */
  part(start: number, end: number): ByteView {
    return start === this.start && end === this.end ? this : new ByteView(this.bytes, start, end, this.#slab);
  }

  /** One character per byte. */
  latin1(): string {
    return this.bytes.toString("latin1", this.start, this.end);
  }

  /** The bytes in memory that does not change any more. */
  keep(): Buffer {
    const piece = this.bytes.subarray(this.start, this.end);
    return this.#slab === null ? piece : Buffer.from(piece);
  }

  /** Keeps the bytes at the end of a list. Short pieces are joined, because a buffer of its own costs about 100 bytes. */
  keepIn(pieces: Buffer[]): void {
    const last = pieces.at(-1);
    if (last === undefined || last.length + this.length > MOST_JOINED) pieces.push(this.keep());
    else pieces[pieces.length - 1] = Buffer.concat([last, this.bytes.subarray(this.start, this.end)]);
  }

  /**
   * Keeps the bytes valid until a stream has written them. Bytes that are never written are left to the garbage
   * collector.
   */
  hold(): HeldBytes {
    const piece = this.bytes.subarray(this.start, this.end);
    const slab = this.#slab;
    if (slab === null) return new HeldBytes(piece, null);
    if (slab !== sharedSlab) {
      slab.hold();
      return new HeldBytes(piece, slab);
    }
    if (piece.length < MIN_SLAB_BYTES) return new HeldBytes(Buffer.from(piece), null);
    const own = takeSlab();
    return new HeldBytes(own.bytes.subarray(0, piece.copy(own.bytes)), own);
  }

  /**
   * Keeps the bytes valid until `release` of the slab; shared memory is copied. Used only in this folder.
   *
   * @returns `slab` is null when the bytes are in memory that does not change any more
   */
  retain(): { readonly bytes: Buffer; readonly slab: Slab | null } {
    const { length } = this;
    if (this.#slab === sharedSlab) {
      const copy = Buffer.allocUnsafe(length);
      this.bytes.copy(copy, 0, this.start, this.end);
      return { bytes: copy, slab: null };
    }
    this.#slab?.hold();
    return { bytes: this.bytes.subarray(this.start, this.end), slab: this.#slab };
  }
}

/** Bytes on their way to a stream. */
export class HeldBytes {
  readonly #piece: Buffer;
  #slab: Slab | null;
  #isWritten = false;

  constructor(piece: Buffer, slab: Slab | null) {
    this.#piece = piece;
    this.#slab = slab;
  }

  /**
   * May be called once. The memory is released when the stream has written the bytes. Returns false when the stream is
   * full.
   */
  writeTo(stream: Writable): boolean {
    if (this.#isWritten) throw new Error("held bytes were written twice");
    this.#isWritten = true;
    const slab = this.#slab;
    this.#slab = null;
    return slab === null ? stream.write(this.#piece) : stream.write(this.#piece, slab.release);
  }
}
