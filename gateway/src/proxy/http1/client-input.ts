/** Bytes that a client has sent and that are not consumed yet. */
import { CR, LF } from "./parse/bytes.ts";
import { type Slab, sharedSlab, slabOf } from "./slab.ts";

const NOTHING = Buffer.alloc(0);

export class ClientInput {
  bytes: Buffer = NOTHING;
  /** Where they lie; null: they last. */
  #slab: Slab | null = null;
  /** Where the request's head lies. */
  #headSlab: Slab | null = null;

  get length(): number {
    return this.bytes.length;
  }

  /** What has been read into a slab. Of the shared one it is copied: the next connection reads into it. */
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

  /** @param slab Where the chunk lies. */
  add(chunk: Buffer, slab = slabOf(chunk)): void {
    if (this.bytes.length === 0) {
      this.bytes = chunk;
      this.#slab = slab;
    } else {
      this.bytes = Buffer.concat([this.bytes, chunk]);
      this.#slab = null;
    }
  }

  /** So many bytes are a head, which stays as it is until `releaseHead`. */
  skipHead(size: number): void {
    this.#slab?.hold();
    this.#headSlab = this.#slab;
    this.skip(size)?.release();
  }

  releaseHead(): void {
    this.#headSlab?.release();
    this.#headSlab = null;
  }

  /** Where the bytes lie, for whoever takes some. */
  get slab(): Slab | null {
    return this.#slab;
  }

  /** So many bytes are used. Answers what has to be let go when they have been taken: nothing else is in it. */
  skip(size: number): Slab | null {
    if (size < this.bytes.length) {
      this.bytes = this.bytes.subarray(size);
      return null;
    }
    const slab = this.#slab;
    this.clear();
    return slab;
  }

  /** Whether a head has begun: half an empty line is none. */
  get holdsHead(): boolean {
    return this.bytes.length > 1 || (this.bytes.length === 1 && this.bytes[0] !== CR);
  }

  /** Those before a head begin nothing; some clients send one behind a body (RFC 9112 section 2.2). */
  skipEmptyLines(): void {
    const { bytes } = this;
    if (bytes[0] !== CR) return;
    let size = 0;
    while (bytes[size] === CR && bytes[size + 1] === LF) size += 2;
    if (size > 0) this.skip(size)?.release();
  }

  /** Nobody wants them. */
  clear(): void {
    this.bytes = NOTHING;
    this.#slab = null;
  }
}
