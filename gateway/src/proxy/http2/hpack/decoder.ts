/**
 * Decoder of header blocks (RFC 7541). Fields are written to a buffer as `name: value` lines; the decoder shows the
 * offsets of one field at a time and creates neither objects nor strings.
 */
import { COLON, CR, LF, SP } from "../../http1/parse/bytes.ts";
import { copyBytes, DEFAULT_TABLE_SIZE, DynamicTable, LINE_COST } from "./dynamic-table.ts";
import { BAD_VALUE, type FieldRange, nameKind, valueKind } from "./field-kind.ts";
import { huffmanDecode } from "./huffman.ts";
import {
  STATIC_COUNT,
  staticKinds,
  staticLines,
  staticNameLengths,
  staticStarts,
  staticValueLengths,
} from "./static-table.ts";

/** Receives the fields of a block. */
export interface FieldReceiver {
  /**
   * Memory for the lines. Beyond the lines that the receiver keeps, it needs room for the longest field of a block and
   * for an entry of the table (see `roomFor`).
   */
  readonly lines: Buffer;
  /**
   * Called for each field. The next line is written at the returned offset: the end of the line keeps it, its start
   * discards it. After NO_MORE, entries of the tables are not copied any more, and the call has no more results: a block
   * of 64 kB could otherwise cause 250 MB of copies.
   */
  field(field: DecodedField): number;
}

/** The offsets are those in `lines`. */
export interface DecodedField extends FieldRange {
  /** See field-kind.ts. */
  readonly kind: number;
  /** Offset after the line. */
  readonly lineEnd: number;
}

/** Result of `FieldReceiver.field`: the rest of the block only changes the table. */
export const NO_MORE = -1;

/** Copied bytes above which a block that is too large anyway ends the connection. */
const MOST_COPIED = 1_048_576;
const INDEXED = 0x80;
const INCREMENTAL = 0x40;
const RESIZE = 0x20;
const HUFFMAN = 0x80;
/** Prefix lengths as masks (section 5.1). */
const SEVEN = 0x7f;
const SIX = 0x3f;
const FIVE = 0x1f;
const FOUR = 0x0f;
/** Continuation bytes of an integer: enough for 28 bits. */
const MOST_CONTINUATIONS = 4;

/** Bytes that a receiver needs in `lines` beyond those that it keeps, for blocks of this length. */
export const roomFor = (block: number): number => Math.ceil((block * 8) / 5) * 2 + DEFAULT_TABLE_SIZE + LINE_COST;

export class HpackDecoder implements DecodedField {
  nameStart = 0;
  nameEnd = 0;
  valueStart = 0;
  valueEnd = 0;
  lineEnd = 0;
  kind = 0;
  readonly #table = new DynamicTable();
  /** The encoded bytes. */
  #bytes: Buffer = NOTHING;
  #at = 0;
  #end = 0;
  #lines: Buffer = NOTHING;
  /** Bytes of names that the block's literals have copied from the tables. */
  #copied = 0;

  /** Decodes a complete block. Returns false if it is invalid; then the decoder must not be used again. */
  decode(bytes: Buffer, { start, end }: { readonly start: number; readonly end: number }, to: FieldReceiver): boolean {
    this.#bytes = bytes;
    this.#at = start;
    this.#end = end;
    this.#lines = to.lines;
    let line = 0;
    let mayResize = true;
    let isOver = false;
    this.#copied = 0;
    while (this.#at < end) {
      const first = bytes[this.#at] ?? 0;
      if ((first & INDEXED) !== 0) {
        const index = this.#integer(SEVEN);
        if (index <= 0) return false;
        if (isOver) {
          if (!this.#hasEntry(index)) return false;
          continue;
        }
        if (!this.#copyEntry(index, line)) return false;
      } else if ((first & INCREMENTAL) !== 0) {
        if (!this.#literal(this.#integer(SIX), line)) return false;
        this.#table.insert(this.#lines, {
          start: line,
          nameLength: this.nameEnd - line,
          valueLength: this.valueEnd - this.valueStart,
          kind: this.kind,
        });
      } else if ((first & RESIZE) !== 0) {
        const limit = this.#integer(FIVE);
        if (!mayResize || limit < 0 || limit > DEFAULT_TABLE_SIZE) return false;
        this.#table.resize(limit);
        continue;
      } else if (!this.#literal(this.#integer(FOUR), line)) return false;
      mayResize = false;
      if (isOver && this.#copied > MOST_COPIED) return false;
      if (isOver) continue;
      const next = to.field(this);
      if (next === NO_MORE) isOver = true;
      else line = next;
    }
    this.#bytes = NOTHING;
    return true;
  }

  /** -1: incomplete or too large. */
  #integer(prefix: number): number {
    const bytes = this.#bytes;
    let value = (bytes[this.#at++] ?? 0) & prefix;
    if (value < prefix) return value;
    for (let count = 0; count < MOST_CONTINUATIONS; count++) {
      if (this.#at >= this.#end) return -1;
      const byte = bytes[this.#at++] ?? 0;
      value += (byte & SEVEN) << (count * 7);
      if ((byte & INDEXED) === 0) return value;
    }
    return -1;
  }

  #hasEntry(index: number): boolean {
    return index <= STATIC_COUNT || this.#table.has(this.#table.newest - (index - STATIC_COUNT - 1));
  }

  /** Copies an entry of either table to the line at this offset. Returns false when there is no such entry. */
  #copyEntry(index: number, line: number): boolean {
    if (index <= STATIC_COUNT) {
      const start = staticStarts[index] ?? 0;
      this.#show(line, staticNameLengths[index] ?? 0, staticValueLengths[index] ?? 0, staticKinds[index] ?? 0);
      copyBytes(staticLines, { start, end: start + this.lineEnd - line }, this.#lines, line);
      return true;
    }
    const table = this.#table;
    const number = table.newest - (index - STATIC_COUNT - 1);
    if (!table.has(number)) return false;
    const start = table.startOf(number);
    this.#show(line, table.nameLengthOf(number), table.valueLengthOf(number), table.kindOf(number));
    copyBytes(table.memory, { start, end: start + this.lineEnd - line }, this.#lines, line);
    return true;
  }

  #show(line: number, nameLength: number, valueLength: number, kind: number): void {
    this.nameStart = line;
    this.nameEnd = line + nameLength;
    this.valueStart = this.nameEnd + 2;
    this.valueEnd = this.valueStart + valueLength;
    this.lineEnd = this.valueEnd + 2;
    this.kind = kind;
  }

  /** @param index Of the name; 0: the name is a literal too */
  #literal(index: number, line: number): boolean {
    const lines = this.#lines;
    let nameEnd: number;
    let kind: number;
    if (index < 0) return false;
    if (index === 0) {
      nameEnd = this.#string(line);
      if (nameEnd < 0) return false;
      kind = nameKind(lines, line, nameEnd);
    } else {
      if (!this.#copyName(index, line)) return false;
      ({ nameEnd, kind } = this);
    }
    lines[nameEnd] = COLON;
    lines[nameEnd + 1] = SP;
    const valueStart = nameEnd + 2;
    const valueEnd = this.#string(valueStart);
    if (valueEnd < 0) return false;
    lines[valueEnd] = CR;
    lines[valueEnd + 1] = LF;
    this.#show(line, nameEnd - line, valueEnd - valueStart, kind | valueKind(lines, valueStart, valueEnd));
    return true;
  }

  #copyName(index: number, line: number): boolean {
    const isStatic = index <= STATIC_COUNT;
    const table = this.#table;
    const number = table.newest - (index - STATIC_COUNT - 1);
    if (!isStatic && !table.has(number)) return false;
    const start = isStatic ? (staticStarts[index] ?? 0) : table.startOf(number);
    const length = isStatic ? (staticNameLengths[index] ?? 0) : table.nameLengthOf(number);
    this.kind = (isStatic ? (staticKinds[index] ?? 0) : table.kindOf(number)) & ~BAD_VALUE;
    this.nameEnd = line + length;
    this.#copied += length;
    copyBytes(isStatic ? staticLines : table.memory, { start, end: start + length }, this.#lines, line);
    return true;
  }

  /** Writes a string (section 5.2) at this offset. Returns the offset after it; -1: it is invalid. */
  #string(to: number): number {
    if (this.#at >= this.#end) return -1;
    const isHuffman = ((this.#bytes[this.#at] ?? 0) & HUFFMAN) !== 0;
    const length = this.#integer(SEVEN);
    const start = this.#at;
    if (length < 0 || start + length > this.#end) return -1;
    this.#at += length;
    const range = { start, end: start + length };
    if (isHuffman) return huffmanDecode(this.#bytes, range, this.#lines, to);
    copyBytes(this.#bytes, range, this.#lines, to);
    return to + length;
  }
}

const NOTHING = Buffer.alloc(0);
