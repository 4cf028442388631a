/** Bytes that a client has sent and that are not consumed yet. */
import { CR, LF } from "../http1/parse/bytes.ts";
import { ByteView } from "./byte-view.ts";
import type { Slab } from "./slab.ts";

const NOTHING = Buffer.alloc(0);

export class ClientInput {
  bytes: Buffer = NOTHING;
  /** Contains the bytes; null: they are in memory that does not change any more. */
  #slab: Slab | null = null;
  /** Contains the current request's head. */
  #headSlab: Slab | null = null;

  get length(): number {
    return this.bytes.length;
  }

  add(view: ByteView): void {
    if (this.bytes.length > 0) {
      this.bytes = Buffer.concat([this.bytes, view.bytes.subarray(view.start, view.end)]);
      this.#slab = null;
      return;
    }
    const { bytes, slab } = view.retain();
    this.bytes = bytes;
    this.#slab = slab;
  }

  /** Consumes a head of this size, which stays valid until `releaseHead`. */
  skipHead(size: number): void {
    this.#slab?.hold();
    this.#headSlab = this.#slab;
    this.skip(size);
  }

  releaseHead(): void {
    this.#headSlab?.release();
    this.#headSlab = null;
  }

  /** Consumes the first `size` bytes, and passes on the bytes from `start` to `end`. */
  pass(receiver: { write(view: ByteView): void }, start: number, end: number, size = end): void {
    const view = new ByteView(this.bytes, start, end, this.#slab);
    // The bytes are consumed first, because the receiver may ask for more.
    const used = this.#consume(size);
    receiver.write(view);
    used?.release();
  }

  skip(size: number): void {
    this.#consume(size)?.release();
  }

  /** Returns the slab to release after the use of the consumed bytes; null: other bytes remain, or there is no slab. */
  #consume(size: number): Slab | null {
    if (size < this.bytes.length) {
      this.bytes = this.bytes.subarray(size);
      return null;
    }
    const slab = this.#slab;
    this.clear();
    return slab;
  }

  /** Whether a head has begun; half an empty line does not count. */
  get holdsHead(): boolean {
    return this.bytes.length > 1 || (this.bytes.length === 1 && this.bytes[0] !== CR);
  }

  /** Skips empty lines before a head: some clients send one after a body (RFC 9112 section 2.2). */
  skipEmptyLines(): void {
    const { bytes } = this;
    if (bytes[0] !== CR) return;
    let size = 0;
    while (bytes[size] === CR && bytes[size + 1] === LF) size += 2;
    if (size > 0) this.skip(size);
  }

  clear(): void {
    this.bytes = NOTHING;
    this.#slab = null;
  }
}
