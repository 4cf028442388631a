/**
 * Where plain connections read to. Node would make a buffer of 64 kB for every read, which costs more than scanning a
 * usual head does: so all connections of a thread read into one slab, and what is kept is copied; those in the middle of a
 * long body read into slabs of their own, which go on as they are.
 */
import type { OnReadOpts } from "node:net";
import { type Slab, sharedSlab, takeSlab } from "./slab.ts";

export class ReadBuffer {
  /** For `net.connect`. */
  readonly onread: OnReadOpts;
  /** Buffer of the first read, for accepted sockets. */
  readonly first: Buffer = sharedSlab.bytes;
  /** Told of what has come: the slab's bytes up to `end`, which hold during the call and as long as the slab is held. */
  read: (slab: Slab, end: number) => void = () => {
    // Nobody has the connection yet, and it has been asked nothing.
  };
  /** Whether much is to come. */
  isLong = false;
  #slab = sharedSlab;

  constructor() {
    this.onread = {
      buffer: () => this.#next().bytes,
      callback: (size) => {
        this.read(this.#slab, size);
        return true;
      },
    };
  }

  /** Node asks after every read. */
  #next(): Slab {
    const slab = this.#slab;
    const isOwn = slab !== sharedSlab;
    if (this.isLong ? isOwn && !slab.isLent : !isOwn) return slab;
    if (isOwn) slab.release();
    this.#slab = this.isLong ? takeSlab() : sharedSlab;
    return this.#slab;
  }
}
