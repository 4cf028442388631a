/**
 * JSON that is written as UTF-8 into memory that the next text overwrites. A string of a record's size, together with
 * the strings of which it is made, would be as much garbage as all the rest of a plain request.
 */
import type { TransientBytes } from "@sluice/plugin-sdk";

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const CR = 0x0d;
const ZERO = 0x30;

const BILLION = 1_000_000_000;
/** Digits of the largest safe integer. */
const MAX_DIGITS = 16;

/** 1 for characters that JSON does not escape and UTF-8 does not change: printable ASCII (RFC 8259 section 7). */
const UNESCAPED = new Uint8Array(256).fill(1, 0x20, 0x7f);
UNESCAPED[QUOTE] = 0;
UNESCAPED[BACKSLASH] = 0;

/** Bytes of the memory at first, and after a text that was longer than MAX_KEPT. */
const INITIAL = 16 * 1024;
const MAX_KEPT = 256 * 1024;

export class JsonBytes implements TransientBytes {
  bytes = Buffer.allocUnsafeSlow(INITIAL);
  /** May be reset to an earlier length, to discard what was written since. */
  length = 0;

  /** Begins another text. */
  clear(): void {
    this.length = 0;
    if (this.bytes.length > MAX_KEPT) this.bytes = Buffer.allocUnsafeSlow(INITIAL);
  }

  /** Appends text that is JSON already. */
  text(text: string): void {
    this.#reserve(3 * text.length);
    this.length += this.bytes.write(text, this.length);
  }

  /** Appends bytes that are JSON already. */
  piece(json: Uint8Array): void {
    this.#reserve(json.length);
    this.bytes.set(json, this.length);
    this.length += json.length;
  }

  /** Repeats the bytes from `start` to `end`. */
  repeat(start: number, end: number): void {
    this.#reserve(end - start);
    this.bytes.copyWithin(this.length, start, end);
    this.length += end - start;
  }

  string(text: string): void {
    const start = this.length;
    this.#reserve(text.length + 2);
    const { bytes } = this;
    let to = start;
    bytes[to++] = QUOTE;
    for (let at = 0; at < text.length; at++) {
      const code = text.charCodeAt(at);
      if (UNESCAPED[code] !== 1) {
        this.text(JSON.stringify(text));
        return;
      }
      bytes[to++] = code;
    }
    bytes[to] = QUOTE;
    this.length = to + 1;
  }

  /**
   * Appends the characters from `start` to the end of the line as content of a string. Returns the offset of the line
   * end (CR). Returns -1 and appends nothing if a character must be escaped or encoded, or the line has no end.
   */
  line(text: string, start: number): number {
    this.#reserve(text.length - start);
    const { bytes } = this;
    let to = this.length;
    let at = start;
    for (; at < text.length; at++) {
      const code = text.charCodeAt(at);
      if (UNESCAPED[code] !== 1) break;
      bytes[to++] = code;
    }
    if (text.charCodeAt(at) !== CR) return -1;
    this.length = to;
    return at;
  }

  /** @param number An integer */
  number(number: number): void {
    if (number < 0) {
      this.text(String(number));
      return;
    }
    this.#reserve(MAX_DIGITS);
    if (number < BILLION) {
      let digits = 1;
      for (let power = 10; number >= power; power *= 10) digits++;
      this.#digits(number, digits);
      return;
    }
    // V8 computes faster with integers of 32 bits.
    const billions = Math.floor(number / BILLION);
    this.number(billions);
    this.#digits(number - billions * BILLION, 9);
  }

  #digits(number: number, count: number): void {
    const { bytes, length } = this;
    let rest = number >>> 0;
    for (let at = length + count - 1; at >= length; at--) {
      const tens = (rest / 10) >>> 0;
      bytes[at] = ZERO + rest - 10 * tens;
      rest = tens;
    }
    this.length = length + count;
  }

  toString(): string {
    return this.bytes.toString("utf8", 0, this.length);
  }

  #reserve(more: number): void {
    if (this.length + more <= this.bytes.length) return;
    const grown = Buffer.allocUnsafeSlow(2 * (this.length + more));
    this.bytes.copy(grown, 0, 0, this.length);
    this.bytes = grown;
  }
}
