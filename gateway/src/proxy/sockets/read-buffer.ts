/**
 * Read buffers for connections. Node would allocate memory for every read, which costs more than parsing a usual head.
 * All connections of a thread therefore read into one slab, and bytes to keep are copied; a connection in the middle of
 * a long body reads into slabs of its own, which are passed on without a copy.
 */
import type { OnReadOpts } from "node:net";
import { ByteView } from "./byte-view.ts";
import { MIN_SLAB_BYTES, SLAB_SIZE, sharedSlab, TLS_SLAB_SIZE, takeSlab } from "./slab.ts";

export class ReadBuffer {
  /** For `net.connect` and `tls.connect`. */
  readonly onread: OnReadOpts;
  /** Buffer for the first read of accepted sockets. */
  readonly first: Buffer = sharedSlab.bytes;
  /** A body counts as long when a read has at least this many bytes. */
  readonly longRead: number;
  /** Receives the bytes that were read. */
  read: (view: ByteView) => void = () => {
    // Ignored: the connection has no owner yet and no request was sent on it.
  };
  /** Whether many bytes are expected. */
  isLong = false;
  readonly #size: number;
  #slab = sharedSlab;

  constructor({ isTls }: { readonly isTls: boolean }) {
    this.#size = isTls ? TLS_SLAB_SIZE : SLAB_SIZE;
    this.longRead = isTls ? TLS_SLAB_SIZE / 2 : MIN_SLAB_BYTES;
    this.onread = {
      buffer: () => this.#next().bytes,
      callback: (size) => {
        this.read(new ByteView(this.#slab.bytes, 0, size, this.#slab));
        return true;
      },
    };
  }

  /** The slab for the next read. Node asks for it after every read, and for an outgoing connection before the first. */
  #next() {
    const slab = this.#slab;
    const isOwn = slab !== sharedSlab;
    if (this.isLong ? isOwn && !slab.isLent : !isOwn) return slab;
    if (isOwn) slab.release();
    this.#slab = this.isLong ? takeSlab(this.#size) : sharedSlab;
    return this.#slab;
  }
}
