/** Parser of the head of an upstream's response (RFC 9112 section 4). */

import { CR, LF, NINE, SP, VALUE, ZERO } from "./bytes.ts";
import { fault } from "./faults.ts";
import { passedFields, passedValues } from "./fields.ts";
import {
  CHUNKED_BODY,
  CLOSE,
  findFraming,
  foundFraming,
  KEEP_ALIVE,
  LENGTH_BODY,
  NO_BODY,
  UNTIL_CLOSE,
  UPGRADE,
} from "./framing.ts";
import { HeadParser, method, VERSION_LENGTH, versionAt } from "./head-parser.ts";

const SWITCHING_PROTOCOLS = 101;
const OK = 200;
const NO_CONTENT = 204;
const NOT_MODIFIED = 304;
const FIRST_FINAL = 200;
const FIRST_REDIRECT = 300;
/** Bytes of the empty line after the fields. */
const EMPTY_LINE = 2;

/**
 * The client receives a 502 for every fault. An interim response (1xx) has a head of its own: `parse` is called again
 * for the next head.
 */
export class ResponseHeadParser extends HeadParser {
  /** 100 to 999 */
  status = 0;
  /** Start of the reason phrase, which may be empty. */
  reasonStart = 0;
  reasonEnd = 0;
  /** Id of the request's method (head-parser.ts), which determines the framing. */
  #asked = 0;

  /** Flat list of the forwarded fields. */
  get headers(): readonly string[] {
    return passedFields(this.fields);
  }

  /** All values of a forwarded field, by its lower-case name. */
  valuesOf(lower: string): readonly string[] {
    return passedValues(this.fields, lower);
  }

  get isDelimited(): boolean {
    return this.bodyKind !== UNTIL_CLOSE;
  }

  get isBodiless(): boolean {
    return this.bodyKind === NO_BODY;
  }

  /** Whether trailers may follow the body. */
  get mayTrail(): boolean {
    return this.bodyKind === CHUNKED_BODY;
  }

  /** Prepares for the response to a request with this method (an id of head-parser.ts). */
  override reset(asked = 0): void {
    this.#asked = asked;
    super.reset();
  }

  /** A copy of the parsed head that stays valid when the bytes of the original are overwritten. */
  copy(): ResponseHeadParser {
    const { bytes, line } = this.fields;
    const end = line + EMPTY_LINE;
    const kept = Buffer.from(bytes.subarray(this.start, end));
    const copy = new ResponseHeadParser();
    copy.reset(this.#asked);
    copy.parse(kept, 0, kept.length);
    return copy;
  }

  protected override begin(): void {
    this.status = 0;
  }

  protected override moveLine(distance: number): void {
    this.reasonStart += distance;
    this.reasonEnd += distance;
  }

  /** Version, three digits and an optional reason; many upstreams omit the space before an empty reason. */
  protected override scanLine(bytes: Buffer, end: number): number {
    const limit = this.start + this.maxLine;
    const stop = end < limit ? end : limit;
    let position = this.position;
    if (this.status === 0) {
      const version = versionAt(bytes, position, stop);
      if (version < 0) return version;
      const digits = position + VERSION_LENGTH + 1;
      if (version > 0 && digits <= stop && bytes[digits - 1] !== SP) return fault.statusLine;
      for (let at = digits; at < digits + 3 && at < stop; at++) {
        const byte = bytes[at] ?? 0;
        if (byte < ZERO || byte > NINE || (byte === ZERO && at === digits)) return fault.statusLine;
      }
      position = digits + 3;
      if (position >= stop) return stop === limit ? fault.statusLine : 0;
      if (bytes[position] !== SP && bytes[position] !== CR) return fault.statusLine;
      this.minorVersion = version - 1;
      this.status = numberAt(bytes, digits);
      if (bytes[position] === SP) position++;
      this.reasonStart = position;
    }
    while (position < stop && VALUE[bytes[position] ?? 0] === 1) position++;
    this.position = position;
    if (position < stop && bytes[position] !== CR) return bytes[position] === LF ? fault.bareLf : fault.statusLine;
    if (position + 1 >= stop) return stop === limit ? fault.statusLine : 0;
    if (bytes[position + 1] !== LF) return fault.bareCr;
    this.reasonEnd = position;
    return position + 2;
  }

  /** Applies the rules for recipients of a response (RFC 9112 section 6.3). */
  protected override readFraming(): number {
    const misfit = findFraming(this.fields);
    if (misfit < 0) return misfit;
    const { status } = this;
    const isNewest = this.minorVersion === 1;
    const { chunked, length, connection } = foundFraming;
    if (chunked && !isNewest) return fault.codingVersion;
    if (status < FIRST_FINAL && (chunked || length > 0)) return fault.interimBody;
    this.contentLength = length;
    this.keepAlive = (connection & CLOSE) === 0 && (isNewest || (connection & KEEP_ALIVE) !== 0);
    this.upgrade = isNewest && status === SWITCHING_PROTOCOLS && foundFraming.upgrade && (connection & UPGRADE) !== 0;
    if (status === SWITCHING_PROTOCOLS && !this.upgrade) return fault.switching;
    if (this.#asked === method.CONNECT && status >= OK && status < FIRST_REDIRECT) {
      this.bodyKind = NO_BODY;
      this.upgrade = true;
    } else if (status < FIRST_FINAL || status === NO_CONTENT) {
      this.bodyKind = NO_BODY;
      // An upstream that declares a body where none is allowed may send it: those bytes must not be read as a response.
      if (chunked || length > 0) this.keepAlive = false;
    } else if (this.#asked === method.HEAD || status === NOT_MODIFIED) this.bodyKind = NO_BODY;
    else if (chunked) this.bodyKind = CHUNKED_BODY;
    else if (length >= 0) this.bodyKind = length === 0 ? NO_BODY : LENGTH_BODY;
    else {
      this.bodyKind = UNTIL_CLOSE;
      this.keepAlive = false;
    }
    return 0;
  }
}

const numberAt = (bytes: Buffer, at: number): number =>
  ((bytes[at] ?? 0) - ZERO) * 100 + ((bytes[at + 1] ?? 0) - ZERO) * 10 + (bytes[at + 2] ?? 0) - ZERO;
