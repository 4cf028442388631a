/**
 * The bytes of a queue's entries, outside V8's heap. Entries wait long enough that strings would be copied within the
 * young generation, promoted, and freed only by a full garbage collection.
 */
import type { TransientBytes } from "../exchange/exchange.ts";

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
  /** Number of entries that wait. */
  waiting: number;
  /** Offset of the oldest entry that waits. */
  read: number;
  /** Whether it has a single large entry, and is left to the garbage collector. */
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

/** Number of entries whose lengths fit at first. */
const FIRST_LENGTHS = 16;
/** Above this number, the memory for lengths shrinks to FIRST_LENGTHS once no entry waits. */
const KEPT_LENGTHS = 16_384;

/**
 * The entries that wait, the oldest first. Keeps only a number for each of them: as many objects would make full garbage
 * collections more frequent. Allocates at most a seventh more than the bytes of the entries, plus three chunks: an entry
 * that is larger than an eighth of a chunk has memory of its own, so less than an eighth is left free at the end of a
 * chunk. An empty memory has no chunk. Entries should be freed in the order in which they were taken, because a chunk is
 * freed with its last entry.
 */
export class EntryMemory {
  /** Number of entries that wait. */
  count = 0;
  /** Bytes of the entries that wait. */
  bytes = 0;
  /** The lengths of the entries that wait, in a ring. */
  #lengths = new Uint32Array(FIRST_LENGTHS);
  /** Index of the oldest entry's length. */
  #first = 0;
  /** The chunks with waiting entries, in the order of the entries. Large entries are in `#alone`. */
  #chunks: Chunk[] = [];
  /** The chunks of large entries that wait, one for each entry. */
  readonly #alone: Chunk[] = [];
  /** The chunk to which entries are added; null: none. */
  #open: Chunk | null = null;
  /** Number of entries that have not been freed, without large ones. */
  #entries = 0;

  /** @param length The number of the entry's bytes */
  add(entry: string | TransientBytes, length: number): void {
    if (this.count === this.#lengths.length) this.#grow();
    this.#lengths[(this.#first + this.count++) % this.#lengths.length] = length;
    this.bytes += length;
    if (length > SMALL) {
      this.#alone.push(aloneChunk(entry, length));
      return;
    }
    const open = this.#open;
    const chunk = open !== null && open.used + length <= open.bytes.length ? open : this.#openChunk();
    if (chunk.waiting++ === 0) this.#chunks.push(chunk);
    writeEntry(chunk, entry, length);
    chunk.entries++;
    this.#entries++;
  }

  /** Removes and returns the oldest of the entries that wait, of which there must be one. */
  take(): StoredEntry {
    const length = this.#lengths[this.#first] as number;
    this.#first = (this.#first + 1) % this.#lengths.length;
    this.bytes -= length;
    if (--this.count === 0 && this.#lengths.length > KEPT_LENGTHS) {
      this.#lengths = new Uint32Array(FIRST_LENGTHS);
      this.#first = 0;
    }
    if (length > SMALL) return { chunk: this.#alone.shift() as Chunk, start: 0, end: length };
    const chunk = this.#chunks[0] as Chunk;
    const start = chunk.read;
    chunk.read += length;
    if (--chunk.waiting === 0) this.#chunks.shift();
    return { chunk, start, end: chunk.read };
  }

  /** Frees an entry that was taken: its bytes may be overwritten from now on. */
  free({ chunk }: StoredEntry): void {
    if (chunk.isAlone) return;
    this.#entries--;
    if (--chunk.entries > 0) return;
    chunk.used = 0;
    chunk.read = 0;
    if (chunk === this.#open) {
      if (this.#entries > 0) return;
      this.#open = null;
    }
    (chunk.bytes.length === SMALL ? freeSmall : freeLarge).release(chunk.bytes);
  }

  #openChunk(): Chunk {
    this.#open = newChunk((this.#entries === 0 ? freeSmall : freeLarge).acquire(), false);
    return this.#open;
  }

  #grow(): void {
    const lengths = new Uint32Array(2 * this.count);
    lengths.set(this.#lengths.subarray(this.#first));
    lengths.set(this.#lengths.subarray(0, this.#first), this.count - this.#first);
    this.#lengths = lengths;
    this.#first = 0;
  }
}

const newChunk = (bytes: Buffer, isAlone: boolean): Chunk => ({
  bytes,
  used: 0,
  entries: 0,
  waiting: 0,
  read: 0,
  isAlone,
});

function writeEntry(chunk: Chunk, entry: string | TransientBytes, length: number): void {
  if (typeof entry === "string") chunk.bytes.write(entry, chunk.used, length);
  else entry.bytes.copy(chunk.bytes, chunk.used, 0, length);
  chunk.used += length;
}

function aloneChunk(entry: string | TransientBytes, length: number): Chunk {
  const chunk = newChunk(Buffer.allocUnsafeSlow(length), true);
  writeEntry(chunk, entry, length);
  return chunk;
}

/** Stores an entry in memory of its own, which need not be freed. */
export const storeAlone = (entry: string | TransientBytes, length: number): StoredEntry => ({
  chunk: aloneChunk(entry, length),
  start: 0,
  end: length,
});

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
