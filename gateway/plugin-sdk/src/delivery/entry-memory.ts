/**
 * The bytes of a queue's entries, outside V8's heap. Entries wait long enough that strings would be copied within the
 * young generation, promoted, and freed only by a full garbage collection.
 */

/** The entries of one delivery, the oldest first. */
export interface DeliveryBatch {
  /** The number of entries. */
  readonly length: number;
  /**
   * The prefix, all entries with the separator between them, and the suffix, in UTF-8. The buffer must not be changed.
   * Its memory is used again once the promise that `deliver` has returned settles: what is kept for longer must be
   * copied.
   */
  join(separator: string, prefix?: string, suffix?: string): Buffer;
  texts(): string[];
}

/** Memory of one entry, or of several that share it. */
interface Chunk {
  readonly bytes: Buffer;
  /** Number of bytes that were written. */
  used: number;
  /** Number of entries that have not been freed. */
  entries: number;
  /** Whether it has only one entry and is left to the garbage collector. */
  readonly isAlone: boolean;
}

export interface StoredEntry {
  readonly chunk: Chunk;
  readonly start: number;
  readonly end: number;
}

/** Bytes of the first chunk of a queue: many queues have only a few entries. */
const SMALL = 8 * 1024;
/** Bytes of further chunks. */
const LARGE = 64 * 1024;

/**
 * The free chunks of one size, for all queues of this thread. Without them, so many new chunks would be allocated that
 * they would cause garbage collections.
 */
class FreeChunks {
  readonly #size: number;
  readonly #most: number;
  readonly #free: Buffer[] = [];

  constructor(size: number, most: number) {
    this.#size = size;
    this.#most = most;
  }

  acquire(): Buffer {
    return this.#free.pop() ?? Buffer.allocUnsafeSlow(this.#size);
  }

  release(bytes: Buffer): void {
    if (this.#free.length < this.#most) this.#free.push(bytes);
  }
}

/** Half a megabyte of small chunks and a megabyte of large chunks, at most. */
const freeSmall = new FreeChunks(SMALL, 64);
const freeLarge = new FreeChunks(LARGE, 16);

/**
 * Allocates at most a seventh more than the bytes of its entries, plus three chunks: an entry that is larger than an
 * eighth of a chunk has memory of its own, so less than an eighth is left free at the end of a chunk. An empty memory
 * has no chunk. Entries should be freed in the order in which they were stored, because a chunk is freed with its last
 * entry.
 */
export class EntryMemory {
  /** The chunk to which entries are added; null: none. */
  #open: Chunk | null = null;
  #entries = 0;

  /** @param length The number of the entry's bytes in UTF-8 */
  store(text: string, length: number): StoredEntry {
    if (length > SMALL) return storeAlone(text, length);
    let chunk = this.#open;
    if (chunk === null || chunk.used + length > chunk.bytes.length) {
      chunk = { bytes: (this.#entries === 0 ? freeSmall : freeLarge).acquire(), used: 0, entries: 0, isAlone: false };
      this.#open = chunk;
    }
    const start = chunk.used;
    chunk.used += chunk.bytes.write(text, start, length);
    chunk.entries++;
    this.#entries++;
    return { chunk, start, end: chunk.used };
  }

  /** Frees an entry: its bytes may be overwritten from now on. */
  free({ chunk }: StoredEntry): void {
    if (chunk.isAlone) return;
    this.#entries--;
    if (--chunk.entries > 0) return;
    chunk.used = 0;
    if (chunk === this.#open) {
      if (this.#entries > 0) return;
      this.#open = null;
    }
    (chunk.bytes.length === SMALL ? freeSmall : freeLarge).release(chunk.bytes);
  }
}

/** Stores an entry in memory of its own, which need not be freed. */
export function storeAlone(text: string, length: number): StoredEntry {
  const bytes = Buffer.allocUnsafeSlow(length);
  bytes.write(text);
  return { chunk: { bytes, used: length, entries: 1, isAlone: true }, start: 0, end: length };
}

/** Maximum bytes of the buffer that is kept for the next batch. */
const MAX_SPARE = 2 * 1024 * 1024;

/**
 * A buffer for the next batch of any queue of this thread. A new buffer for every batch would fill V8's budget for
 * memory outside its heap, and so cause a full garbage collection after each few megabytes.
 */
let spare: Buffer | null = null;

/** A buffer of at least this many bytes. */
function takeBuffer(length: number): Buffer {
  const taken = spare;
  if (taken === null || taken.length < length) return Buffer.allocUnsafeSlow(Math.ceil(length / LARGE) * LARGE);
  spare = null;
  return taken;
}

/** Entries that were taken from a queue. */
export class StoredBatch implements DeliveryBatch {
  readonly entries: readonly StoredEntry[];
  /** The buffers that `join` has returned parts of. */
  readonly #lent: Buffer[] = [];

  constructor(entries: readonly StoredEntry[]) {
    this.entries = entries;
  }

  get length(): number {
    return this.entries.length;
  }

  join(separator: string, prefix = "", suffix = ""): Buffer {
    const [first] = this.entries;
    if (first !== undefined && this.entries.length === 1 && prefix === "" && suffix === "")
      return first.chunk.bytes.subarray(first.start, first.end);
    const between = Buffer.from(separator);
    const [before, after] = [Buffer.from(prefix), Buffer.from(suffix)];
    let length = before.length + after.length + between.length * Math.max(0, this.entries.length - 1);
    for (const { start, end } of this.entries) length += end - start;
    const joined = takeBuffer(length);
    this.#lent.push(joined);
    let at = before.copy(joined);
    for (const entry of this.entries) {
      if (entry !== first) at += between.copy(joined, at);
      at += entry.chunk.bytes.copy(joined, at, entry.start, entry.end);
    }
    after.copy(joined, at);
    return joined.subarray(0, length);
  }

  texts(): string[] {
    return this.entries.map(({ chunk, start, end }) => chunk.bytes.toString("utf8", start, end));
  }

  /** Called after each attempt to deliver the batch: buffers that `join` has returned are used again. */
  settle(): void {
    for (const buffer of this.#lent.splice(0)) {
      if (buffer.length <= MAX_SPARE && buffer.length >= (spare?.length ?? 0)) spare = buffer;
    }
  }
}
