/** Incremental parser of chunked bodies (RFC 9112 section 7.1). */
import { BACKSLASH, CR, EQUALS, HEX, LF, NO_HEX, QUOTE, SEMICOLON, TOKEN, VALUE } from "./bytes.ts";
import { fault } from "./faults.ts";
import { knownFieldIds, LOOKALIKE } from "./field-names.ts";
import { DROP, FieldSection, ID, scanFields } from "./fields.ts";

export interface ChunkLimits {
  /** Bytes of the extensions of one chunk. */
  readonly extension: number;
  /** Bytes of all extensions of a body. Limits the overhead that a sender can cause with single-byte chunks. */
  readonly extensions: number;
  /** Bytes of the trailer section. */
  readonly trailers: number;
  readonly trailerCount: number;
}

export const defaultChunkLimits: ChunkLimits = {
  extension: 256,
  extensions: 16_384,
  trailers: 8_192,
  trailerCount: 32,
};

/** Result of `next`: the piece is used up. Faults are negative. */
export const CHUNK_MORE = 0;
/** Result of `next`: a range of the piece is data. */
export const CHUNK_DATA = 1;
/** Result of `next`: the body has ended. */
export const CHUNK_END = 2;

/** With 13 hexadecimal digits, a size stays below 2^53. Leading zeros count as digits. */
const MOST_DIGITS = 13;

const SIZE = 0;
const EXTENSION = 1;
const EXTENSION_NAME = 2;
const EXTENSION_VALUE = 3;
const EXTENSION_REST = 4;
const QUOTED = 5;
const ESCAPED = 6;
const QUOTED_END = 14;
const SIZE_LF = 7;
const DATA = 8;
const DATA_CR = 9;
const DATA_LF = 10;
const TRAILER_START = 11;
const LAST_LF = 12;
const TRAILERS = 13;

/**
 * Reused for every body of a connection:
 *
 *     scanner.reset();
 *     for each piece: at = start;
 *       for (;;) {
 *         const what = scanner.next(bytes, at, end);
 *         at = scanner.position;
 *         CHUNK_DATA: [scanner.dataStart, scanner.dataEnd) is data; go on
 *         CHUNK_END:  the body ended at `at`, its trailers are in `scanner.trailers`; stop
 *         CHUNK_MORE: the piece is used up; wait for another
 *         below 0:    a fault; close
 *       }
 */
export class ChunkedScanner {
  /** Position in the piece after the last `next`. */
  position = 0;
  dataStart = 0;
  dataEnd = 0;
  /** Valid after CHUNK_END; forbidden trailers are marked with DROP. */
  readonly trailers: FieldSection;
  readonly #maxExtension: number;
  readonly #maxExtensions: number;
  #state = SIZE;
  /** The chunk size being read, then the remaining bytes of data. */
  #left = 0;
  #digits = 0;
  #extension = 0;
  #extensions = 0;
  /** A copy of the trailers that have arrived, because trailers may span several pieces. */
  #kept: Buffer | null = null;
  #keptEnd = 0;

  constructor(limits: ChunkLimits = defaultChunkLimits) {
    this.#maxExtension = limits.extension;
    this.#maxExtensions = limits.extensions;
    this.trailers = new FieldSection({ bytes: limits.trailers, count: limits.trailerCount });
  }

  reset(): void {
    this.#state = SIZE;
    this.#left = 0;
    this.#digits = 0;
    this.#extension = 0;
    this.#extensions = 0;
    this.#keptEnd = 0;
    this.trailers.release();
  }

  /**
   * Continues in the piece [start, end). Returns CHUNK_MORE, CHUNK_DATA, CHUNK_END or a fault. After CHUNK_END or a
   * fault only `reset` may follow.
   */
  next(bytes: Buffer, start: number, end: number): number {
    let at = start;
    while (at < end) {
      const state = this.#state;
      if (state === DATA) {
        this.dataStart = at;
        this.dataEnd = end - at < this.#left ? end : at + this.#left;
        this.position = this.dataEnd;
        this.#left -= this.dataEnd - at;
        if (this.#left === 0) this.#state = DATA_CR;
        return CHUNK_DATA;
      }
      if (state === TRAILERS) return this.#readTrailers(bytes, at, end);
      const byte = bytes[at] ?? 0;
      if (state === TRAILER_START && byte !== CR) {
        this.#state = TRAILERS;
        this.trailers.begin(0);
        continue;
      }
      at++;
      if (state === LAST_LF && byte === LF) {
        this.position = at;
        return CHUNK_END;
      }
      const misfit = this.#consume(byte);
      if (misfit < 0) return misfit;
    }
    this.position = at;
    return CHUNK_MORE;
  }

  /** Handles one byte of the framing. Returns 0 or a fault. */
  #consume(byte: number): number {
    switch (this.#state) {
      case SIZE: {
        const digit = HEX[byte] ?? NO_HEX;
        if (digit === NO_HEX) return this.#endSize(byte);
        if (++this.#digits > MOST_DIGITS) return fault.chunkSize;
        this.#left = this.#left * 16 + digit;
        return 0;
      }
      case SIZE_LF:
        if (byte !== LF) return fault.bareCr;
        this.#state = this.#left === 0 ? TRAILER_START : DATA;
        this.#digits = 0;
        this.#extension = 0;
        return 0;
      case DATA_CR:
        if (byte !== CR) return fault.chunkEnd;
        this.#state = DATA_LF;
        return 0;
      case DATA_LF:
        if (byte !== LF) return fault.chunkEnd;
        this.#state = SIZE;
        return 0;
      case TRAILER_START:
        this.#state = LAST_LF;
        return 0;
      case LAST_LF:
        return fault.bareCr;
      default:
        return this.#takeExtension(byte);
    }
  }

  #endSize(byte: number): number {
    if (this.#digits === 0) return fault.chunkSize;
    if (byte === CR) this.#state = SIZE_LF;
    else if (byte === SEMICOLON) this.#state = EXTENSION;
    else return byte === LF ? fault.bareLf : fault.chunkSize;
    return 0;
  }

  /**
   * `;name`, `;name=value`, `;name="value"`, without whitespace: extensions are not forwarded, so strictness costs
   * nothing. Returns 0 or a fault.
   */
  #takeExtension(byte: number): number {
    if (++this.#extension > this.#maxExtension || ++this.#extensions > this.#maxExtensions) {
      return fault.chunkExtensionTooLong;
    }
    const isToken = TOKEN[byte] === 1;
    switch (this.#state) {
      case EXTENSION:
        this.#state = EXTENSION_NAME;
        return isToken ? 0 : fault.chunkExtension;
      case EXTENSION_NAME:
        if (byte === EQUALS) this.#state = EXTENSION_VALUE;
        else if (!isToken) return this.#endExtension(byte);
        return 0;
      case EXTENSION_VALUE:
        this.#state = byte === QUOTE ? QUOTED : EXTENSION_REST;
        return isToken || byte === QUOTE ? 0 : fault.chunkExtension;
      case EXTENSION_REST:
        return isToken ? 0 : this.#endExtension(byte);
      case QUOTED:
        if (byte === QUOTE) this.#state = QUOTED_END;
        else if (byte === BACKSLASH) this.#state = ESCAPED;
        return VALUE[byte] === 1 ? 0 : fault.chunkExtension;
      case ESCAPED:
        this.#state = QUOTED;
        return VALUE[byte] === 1 ? 0 : fault.chunkExtension;
      default:
        return this.#endExtension(byte);
    }
  }

  #endExtension(byte: number): number {
    if (byte === CR) this.#state = SIZE_LF;
    else if (byte === SEMICOLON) this.#state = EXTENSION;
    else return byte === LF ? fault.bareLf : fault.chunkExtension;
    return 0;
  }

  #readTrailers(bytes: Buffer, start: number, end: number): number {
    const { trailers } = this;
    const room = trailers.maxBytes;
    this.#kept ??= Buffer.allocUnsafe(room);
    const kept = this.#kept;
    const before = this.#keptEnd;
    const taken = Math.min(end - start, room - before);
    bytes.copy(kept, before, start, start + taken);
    this.#keptEnd = before + taken;
    const behind = scanFields(trailers, kept, this.#keptEnd);
    if (behind < 0) return behind;
    if (behind === 0) {
      this.position = end;
      return CHUNK_MORE;
    }
    this.position = start + behind - before;
    const misfit = dropUnwanted(trailers);
    return misfit < 0 ? misfit : CHUNK_END;
  }
}

/**
 * Marks with DROP the trailers that route, authenticate or negotiate: such fields must arrive with the head (RFC 9110
 * section 6.5.1). Trailers with a known name, in any spelling, are marked. A framing field is a fault. Returns 0 or the
 * fault.
 */
function dropUnwanted({ kinds, count }: FieldSection): number {
  for (let index = 0; index < count; index++) {
    const kind = kinds[index] ?? 0;
    const id = kind & (ID | LOOKALIKE);
    if (id === knownFieldIds["content-length"] || id === knownFieldIds["transfer-encoding"]) return fault.trailer;
    if (id !== 0) kinds[index] = kind | DROP;
  }
  return 0;
}
