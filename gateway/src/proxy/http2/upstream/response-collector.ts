/**
 * Collects the fields of the header blocks of upstreams, validated (RFC 9113 section 8). One collector serves all
 * connections of a listener, because a block is decoded in one call.
 */
import { knownFieldIds, knownNames, LOOKALIKE } from "../../http1/parse/field-names.ts";
import { ID } from "../../http1/parse/fields.ts";
import { contentLengthOf } from "../../http1/parse/framing.ts";
import { defaultHeadLimits } from "../../http1/parse/head-parser.ts";
import type { BlockCollector } from "../connection/connection-frames.ts";
import { connectionFieldIds } from "../fields.ts";
import { type DecodedField, NO_MORE, roomFor } from "../hpack/decoder.ts";
import { BAD_NAME, BAD_VALUE, PSEUDO, pseudo } from "../hpack/field-kind.ts";
import { maxBlock } from "../limits.ts";

/** Digits of `:status`. */
const STATUS_DIGITS = 3;
const FIRST_STATUS = 100;

const LENGTH = knownFieldIds["content-length"];

export class ResponseCollector implements BlockCollector {
  readonly lines: Buffer = Buffer.allocUnsafeSlow(roomFor(maxBlock(defaultHeadLimits)));
  /** A clause about the response; null: the block is valid so far. */
  fault: string | null = null;
  /** 0: there is none. */
  status = 0;
  /** Content-Length; -1: none. */
  contentLength = -1;
  /** Flat list without pseudo-header fields: name, value, name, value. */
  headers: string[] = [];
  /** Bytes of the fields in HTTP/1.1 format. */
  textSize = 0;
  #isTrailers = false;

  begin(isTrailers: boolean): void {
    this.fault = null;
    this.status = 0;
    this.contentLength = -1;
    this.headers = [];
    this.textSize = 0;
    this.#isTrailers = isTrailers;
  }

  field(field: DecodedField): number {
    const { kind, nameStart, valueStart, valueEnd } = field;
    const { fields, count } = defaultHeadLimits;
    this.textSize += field.lineEnd - nameStart;
    if (this.textSize > fields || this.headers.length >= 2 * count) {
      this.fault = `its head has more than ${fields} bytes or ${count} fields`;
      return NO_MORE;
    }
    if ((kind & (BAD_NAME | BAD_VALUE)) !== 0) this.fault ??= "a field has an invalid name or value";
    else if ((kind & PSEUDO) !== 0) this.#pseudo(field);
    else {
      const id = (kind & LOOKALIKE) === 0 ? kind & ID : 0;
      if (connectionFieldIds.has(id)) this.fault ??= `it has the field ${knownNames[id]}, which HTTP/2 does not have`;
      else if (id === LENGTH) this.#readLength(valueStart, valueEnd);
      this.headers.push(
        knownNames[id] ?? this.lines.toString("latin1", nameStart, field.nameEnd),
        this.lines.toString("latin1", valueStart, valueEnd),
      );
    }
    return nameStart;
  }

  #pseudo({ kind, valueStart, valueEnd }: DecodedField): void {
    const isStatus = (kind & ID) === pseudo.status && this.status === 0;
    if (this.#isTrailers || this.headers.length > 0 || !isStatus) {
      this.fault ??= "it has an unexpected pseudo-header field";
      return;
    }
    const status = valueEnd - valueStart === STATUS_DIGITS ? contentLengthOf(this.lines, valueStart, valueEnd) : -1;
    if (status < FIRST_STATUS) this.fault ??= "its status is invalid";
    this.status = status;
  }

  #readLength(start: number, end: number): void {
    this.contentLength = this.contentLength < 0 ? contentLengthOf(this.lines, start, end) : -1;
    if (this.contentLength < 0) this.fault ??= "its Content-Length is invalid";
  }
}
