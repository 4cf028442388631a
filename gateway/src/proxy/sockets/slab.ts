/**
 * Reference-counted memory for pieces of bodies until the other socket has written them. Each read by Node allocates 64
 * kB. Left to the garbage collector, bodies made V8 mark the whole heap ten times a second, a third of their CPU cost
 * (measured). The last holder to release a slab returns it to the pool.
 */

/** Bytes of a slab: a body of 64 kB arrives with its head in one read. */
const SIZE = 131_072;
/** Minimum bytes that justify a slab: small pieces would pin too much memory while they wait for a client. */
export const WORTHWHILE = 32_768;
/** Minimum bytes, allocated by Node, that are freed early: one TLS record. */
const SMALLEST = 16_384;
/** Maximum number of free slabs. */
const MOST_FREE = 32;

/** Buffers only: each slab object is used once, so that a late reference never reaches the next use of its memory. */
const free: Buffer[] = [];

export class Slab {
  readonly bytes: Buffer;
  /** Whether the memory returns to the pool. */
  readonly #isPooled: boolean;
  /** 0: released; its memory may have a new owner. */
  #holders: number;

  /** @param holders Infinity: never released */
  constructor(bytes: Buffer, { isPooled, holders = 1 }: { readonly isPooled: boolean; readonly holders?: number }) {
    this.bytes = bytes;
    this.#isPooled = isPooled;
    this.#holders = holders;
  }

  /** Whether holders other than the owner remain. */
  get isLent(): boolean {
    return this.#holders > 1;
  }

  /** Throws when the slab has been released. */
  hold(): void {
    if (this.#holders === 0) throw new SlabOverError();
    this.#holders++;
  }

  /**
   * Called once per `hold`, and once by the owner. A holder that never releases leaves the slab to the garbage
   * collector. A surplus release throws, because it may have freed another holder's bytes, which could mix the bodies
   * of two clients.
   */
  readonly release = (): void => {
    if (this.#holders === 0) throw new SlabOverError();
    this.#holders--;
    if (this.#holders > 0) return;
    const { buffer } = this.bytes;
    if (this.#isPooled) {
      if (free.length < MOST_FREE) free.push(this.bytes);
    } else if (buffer instanceof ArrayBuffer) buffer.transfer(0);
  };
}

class SlabOverError extends Error {
  override readonly name = "SlabOverError";

  constructor() {
    super("a slab was held or let go of that is over");
  }
}

export const takeSlab = (): Slab => new Slab(free.pop() ?? Buffer.allocUnsafeSlow(SIZE), { isPooled: true });

/** Wraps a chunk read by Node so that it is freed early; null when that is not worthwhile or the memory is shared. */
export function slabOf(chunk: Buffer): Slab | null {
  if (chunk.length < SMALLEST) return null;
  // Node does not shrink a buffer that is nearly full. Chunks from its pool are less than half of the pool.
  return chunk.byteOffset === 0 && chunk.length * 2 >= chunk.buffer.byteLength
    ? new Slab(chunk, { isPooled: false })
    : null;
}

/** Shared read buffer of connections that expect no long body; bytes to keep are copied. */
export const sharedSlab = new Slab(Buffer.allocUnsafeSlow(SIZE), {
  isPooled: false,
  holders: Number.POSITIVE_INFINITY,
});
