/**
 * A reused buffer in which text is assembled as UTF-8. Half a million lines of metrics as JavaScript strings, together
 * with Node's copies of them for the socket, cause full garbage collections, which delay requests by tens of
 * milliseconds.
 */
export class TextBuffer {
  #bytes: Buffer;
  #length = 0;

  /** @param size Bytes at the beginning; the buffer grows when it is full. */
  constructor(size: number) {
    this.#bytes = Buffer.allocUnsafeSlow(size);
  }

  get length(): number {
    return this.#length;
  }

  /** The text so far. Valid until the next change. */
  get bytes(): Uint8Array {
    return this.#bytes.subarray(0, this.#length);
  }

  clear(): void {
    this.#length = 0;
  }

  append(text: string): void {
    this.#reserve(3 * text.length);
    this.#length += this.#bytes.write(text, this.#length);
  }

  appendBytes(bytes: Uint8Array): void {
    this.#reserve(bytes.length);
    this.#bytes.set(bytes, this.#length);
    this.#length += bytes.length;
  }

  /** Repeats the bytes from `start` to `end` of the text. */
  repeat(start: number, end: number): void {
    this.#reserve(end - start);
    this.#bytes.copyWithin(this.#length, start, end);
    this.#length += end - start;
  }

  /** The number as `String(number)` prints it, and a line break. */
  appendNumberLine(number: number): void {
    if (!Number.isInteger(number) || number < 0 || number > 0xffff_ffff) {
      this.append(`${number}\n`);
      return;
    }
    this.#reserve(11);
    let digits = 1;
    for (let power = 10; number >= power; power *= 10) digits++;
    const bytes = this.#bytes;
    const end = this.#length + digits;
    let rest = number >>> 0;
    for (let at = end - 1; at >= this.#length; at--) {
      const tens = (rest / 10) >>> 0;
      bytes[at] = 48 + rest - 10 * tens;
      rest = tens;
    }
    bytes[end] = 10;
    this.#length = end + 1;
  }

  #reserve(more: number): void {
    if (this.#length + more <= this.#bytes.length) return;
    const grown = Buffer.allocUnsafeSlow(2 * (this.#length + more));
    this.#bytes.copy(grown, 0, 0, this.#length);
    this.#bytes = grown;
  }
}
