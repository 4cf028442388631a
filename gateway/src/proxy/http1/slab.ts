/**
 * Memory that pieces of bodies lie in until the other socket has taken them. A read by Node makes 64 kB of it: left to
 * the garbage collector, bodies made V8 mark the whole heap ten times a second, which was a third of the CPU that they
 * cost (measured). So it is counted who holds a slab, and the last one to let go gives it back.
 */

/** Bytes: a body of 64 kB comes with its head in one read. */
const SIZE = 131_072;
/** Bytes that are worth a slab; the memory that a few small pieces hold would be too much for what waits for a client. */
export const WORTHWHILE = 32_768;
/** Bytes that Node has read that are worth freeing early: a record of TLS. */
const SMALLEST = 16_384;
/** Free slabs that are kept. */
const MOST_FREE = 32;

/** The memory alone: a slab has one life, so that whoever holds it too long never holds the next one's. */
const free: Buffer[] = [];

export class Slab {
  readonly bytes: Buffer;
  /** Whether its memory is used again. */
  readonly #isPooled: boolean;
  /** 0: it is over, and its memory somebody else's. */
  #holders: number;

  /** @param holders Infinity: for ever */
  constructor(bytes: Buffer, { isPooled, holders = 1 }: { readonly isPooled: boolean; readonly holders?: number }) {
    this.bytes = bytes;
    this.#isPooled = isPooled;
    this.#holders = holders;
  }

  /** Whether somebody beside its owner needs what lies in it. */
  get isLent(): boolean {
    return this.#holders > 1;
  }

  /** Throws when it is over. */
  hold(): void {
    if (this.#holders === 0) throw new SlabOverError();
    this.#holders++;
  }

  /**
   * For each `hold`, and once for the owner. Whoever never lets go leaves the slab to the garbage collector; whoever does
   * so once too often may have given away what another holds: that throws, for bodies of two clients may be mixed.
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

/** What Node has read, to be freed early; null where that is not worth it, or the memory is not the chunk's alone. */
export function slabOf(chunk: Buffer): Slab | null {
  if (chunk.length < SMALLEST) return null;
  // Node does not cut what is nearly full. What it takes from a pool is less than half of that.
  return chunk.byteOffset === 0 && chunk.length * 2 >= chunk.buffer.byteLength
    ? new Slab(chunk, { isPooled: false })
    : null;
}

/** What everybody reads into who awaits nothing long: what is kept of it is copied. */
export const sharedSlab = new Slab(Buffer.allocUnsafeSlow(SIZE), {
  isPooled: false,
  holders: Number.POSITIVE_INFINITY,
});
