/**
 * Reference-counted memory into which sockets read. Without slabs, Node allocates up to 64 kB for each read.
 * To free such allocations, V8's garbage collector marked the whole heap ten times a second, which took a third of the
 * CPU time of forwarding bodies (measured). The last holder to release a slab returns it to the pool.
 *
 * Only the files of this folder hold and release slabs; other files see a `ByteView`.
 */

/** Bytes of a slab: one read can take a body of 64 kB together with its head. */
export const SLAB_SIZE = 131_072;
/** Bytes of a slab for TLS, which passes on one record at a time. */
export const TLS_SLAB_SIZE = 16_384;
/** Minimum bytes that justify a slab: small pieces would pin too much memory while they wait for a client. */
export const MIN_SLAB_BYTES = 32_768;
/** Maximum bytes of free slabs of one size. */
const MOST_FREE = 4_194_304;

/**
 * Free memory by size. Buffers only: each slab object is used once, so that a late `hold` or `release` throws instead
 * of affecting the memory's next owner.
 */
const free: Readonly<Record<number, Buffer[]>> = { [SLAB_SIZE]: [], [TLS_SLAB_SIZE]: [] };

export class Slab {
  readonly bytes: Buffer;
  /** 0: released; its memory may have a new owner. */
  #holders: number;

  /** @param holders Infinity: never released */
  constructor(bytes: Buffer, holders = 1) {
    this.bytes = bytes;
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
    const { length } = this.bytes;
    const pool = free[length];
    if (pool !== undefined && (pool.length + 1) * length <= MOST_FREE) pool.push(this.bytes);
  };
}

class SlabOverError extends Error {
  override readonly name = "SlabOverError";

  constructor() {
    super("a slab was held or released after its last release");
  }
}

export const takeSlab = (size = SLAB_SIZE): Slab => new Slab(free[size]?.pop() ?? Buffer.allocUnsafeSlow(size));

/** Bytes of free memory in the pool. */
export const pooledBytes = (): number =>
  Object.entries(free).reduce((sum, [size, pool]) => sum + Number(size) * pool.length, 0);

/** Shared read buffer of connections that expect no long body; bytes to keep are copied. */
export const sharedSlab = new Slab(Buffer.allocUnsafeSlow(SLAB_SIZE), Number.POSITIVE_INFINITY);
