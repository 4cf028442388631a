/** Decodes and encodes header blocks as lists of fields, for tests. */
import { type DecodedField, type FieldReceiver, HpackDecoder, NO_MORE, roomFor } from "./decoder.ts";
import { HpackEncoder } from "./encoder.ts";

/** Bytes of the longest block of a test. */
const MOST = 65_536;

class FieldList implements FieldReceiver {
  readonly lines = Buffer.alloc(roomFor(MOST));
  fields: string[] = [];
  readonly #most: number;

  /** @param most Fields that are read of a block */
  constructor(most: number) {
    this.#most = most;
  }

  field({ nameStart, nameEnd, valueStart, valueEnd }: DecodedField): number {
    this.fields.push(
      this.lines.toString("latin1", nameStart, nameEnd),
      this.lines.toString("latin1", valueStart, valueEnd),
    );
    return this.fields.length < this.#most * 2 ? nameStart : NO_MORE;
  }
}

/** Decodes blocks one after the other with one decoder, as flat lists. Null: the block is invalid. */
export function blockReader({ most = 1000 } = {}): (block: Buffer) => readonly string[] | null {
  const decoder = new HpackDecoder();
  const list = new FieldList(most);
  return (block) => {
    list.fields = [];
    return decoder.decode(block, { start: 0, end: block.length }, list) ? list.fields : null;
  };
}

/** Encodes flat lists one after the other with one encoder. */
export function blockWriter(encoder = new HpackEncoder()): (fields: readonly string[]) => Buffer {
  return (fields) => {
    encoder.begin();
    for (let at = 0; at < fields.length; at += 2) encoder.field(fields[at] ?? "", fields[at + 1] ?? "");
    return Buffer.from(encoder.bytes.subarray(0, encoder.length));
  };
}
