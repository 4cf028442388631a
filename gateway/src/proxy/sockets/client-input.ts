/** Bytes that a client has sent and that are not consumed yet. */
import { CR, LF } from "../http1/parse/bytes.ts";
import { type Slab, sharedSlab, slabOf } from "./slab.ts";

const NOTHING = Buffer.alloc(0);

export class ClientInput {
  bytes: Buffer = NOTHING;
  /** Slab that contains the bytes; null: owned memory. */
  #slab: Slab | null = null;
  /** Slab that contains the current request's head. */
  #headSlab: Slab | null = null;

  get length(): number {
    return this.bytes.length;
  }

  /** Adds bytes that were read into a slab. Bytes in the shared slab are copied: the next connection overwrites it. */
  read(slab: Slab, size: number): void {
    if (this.bytes.length > 0) this.add(slab.bytes.subarray(0, size), null);
    else if (slab === sharedSlab) {
      const chunk = Buffer.allocUnsafe(size);
      slab.bytes.copy(chunk, 0, 0, size);
      this.add(chunk);
    } else {
      slab.hold();
      this.add(slab.bytes.subarray(0, size), slab);
    }
  }

  /** @param slab Slab that contains the chunk. */
  add(chunk: Buffer, slab = slabOf(chunk)): void {
    if (this.bytes.length === 0) {
      this.bytes = chunk;
      this.#slab = slab;
    } else {
      this.bytes = Buffer.concat([this.bytes, chunk]);
      this.#slab = null;
    }
  }

  /** Consumes a head of this size, which stays valid until `releaseHead`. */
  skipHead(size: number): void {
    this.#slab?.hold();
    this.#headSlab = this.#slab;
    this.skip(size)?.release();
  }

  releaseHead(): void {
    this.#headSlab?.release();
    this.#headSlab = null;
  }

  /** Slab that contains the bytes, for callers that keep some of them. */
  get slab(): Slab | null {
    return this.#slab;
  }

  /** Consumes this many bytes. Returns the slab to release after their use, when no other bytes remain in it. */
  skip(size: number): Slab | null {
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
    if (size > 0) this.skip(size)?.release();
  }

  /** Discards all bytes. */
  clear(): void {
    this.bytes = NOTHING;
    this.#slab = null;
  }
}
