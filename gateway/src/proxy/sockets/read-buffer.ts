/**
 * Read buffers for cleartext connections. Node would allocate 64 kB for every read, which costs more than parsing a
 * usual head. All connections of a thread therefore read into one slab, and bytes to keep are copied; a connection in
 * the middle of a long body reads into slabs of its own, which are passed on without a copy.
 */
import type { OnReadOpts } from "node:net";
import { type Slab, sharedSlab, takeSlab } from "./slab.ts";

export class ReadBuffer {
  /** For `net.connect`. */
  readonly onread: OnReadOpts;
  /** Buffer for the first read of accepted sockets. */
  readonly first: Buffer = sharedSlab.bytes;
  /** Receives the slab's bytes up to `end`, valid during the call and while the slab is held. */
  read: (slab: Slab, end: number) => void = () => {
    // Ignored: the connection has no owner yet and no request was sent on it.
  };
  /** Whether many bytes are expected. */
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

  /** Node calls this after every read. */
  #next(): Slab {
    const slab = this.#slab;
    const isOwn = slab !== sharedSlab;
    if (this.isLong ? isOwn && !slab.isLent : !isOwn) return slab;
    if (isOwn) slab.release();
    this.#slab = this.isLong ? takeSlab() : sharedSlab;
    return this.#slab;
  }
}
