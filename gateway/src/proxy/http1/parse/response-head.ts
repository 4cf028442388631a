/** Parser of an upstream's response head: one scan of its bytes, then framing and connection handling. */
import { passedFields } from "./access.ts";
import { CR, LF, NINE, SP, VALUE, ZERO } from "./bytes.ts";
import { fault } from "./faults.ts";
import { FieldSection, scanFields } from "./fields.ts";
import {
  CHUNKED_BODY,
  CLOSE,
  findFraming,
  found,
  KEEP_ALIVE,
  LENGTH_BODY,
  NO_BODY,
  UNTIL_CLOSE,
  UPGRADE,
} from "./framing.ts";
import { defaultHeadLimits, type HeadLimits } from "./request-head.ts";
import { method, VERSION_LENGTH, versionAt } from "./start-line.ts";

const SWITCHING_PROTOCOLS = 101;
const OK = 200;
const NO_CONTENT = 204;
const NOT_MODIFIED = 304;
const FIRST_FINAL = 200;
const FIRST_REDIRECT = 300;

/** Reused for every response of a connection, like `RequestHeadParser`. Every fault is answered to the client with 502. */
export class ResponseHeadParser {
  readonly fields: FieldSection;
  readonly maxLine: number;
  /** 1 for HTTP/1.1, 0 for HTTP/1.0 */
  minorVersion = 1;
  /** 100 to 999 */
  status = 0;
  /** The reason phrase; may be empty. */
  reasonStart = 0;
  reasonEnd = 0;
  /** NO_BODY, LENGTH_BODY, CHUNKED_BODY or UNTIL_CLOSE. */
  bodyKind = NO_BODY;
  /** Content-Length, also where there is no body (HEAD, 304); -1 when absent. */
  contentLength = -1;
  /** Whether the connection can carry another request after the body. */
  keepAlive = true;
  /** Whether the connection switched protocols: 101 with Upgrade, or a successful response to CONNECT. */
  upgrade = false;
  /** Id of the request's method (methods.ts), which determines the framing. */
  #asked = 0;
  #start = 0;
  #position = 0;
  #inFields = false;
  #fresh = true;

  constructor({ line, fields, count }: HeadLimits = defaultHeadLimits) {
    this.maxLine = line;
    this.fields = new FieldSection({ bytes: fields, count });
  }

  /** Flat list of the forwarded fields. */
  get headers(): readonly string[] {
    return passedFields(this.fields);
  }

  get isBodiless(): boolean {
    return this.bodyKind === NO_BODY;
  }

  /** Whether trailers may follow the body. */
  get mayTrail(): boolean {
    return this.bodyKind === CHUNKED_BODY;
  }

  /** Prepares for the response to a request with this method (an id of methods.ts). */
  reset(asked: number): void {
    this.#asked = asked;
    this.#fresh = true;
  }

  /** Like `RequestHeadParser.parse`. An interim response (1xx) has a head of its own: call `parse` again for the next one. */
  parse(bytes: Buffer, start: number, end: number): number {
    if (this.#fresh) this.#begin(start);
    else if (start !== this.#start) this.#move(start - this.#start);
    if (!this.#inFields) {
      const behind = this.#scanStatusLine(bytes, end);
      if (behind <= 0) return this.#done(behind);
      this.#inFields = true;
      this.fields.begin(behind);
    }
    const behind = scanFields(this.fields, bytes, end);
    if (behind <= 0) return this.#done(behind);
    const misfit = readResponseFraming(this, this.#asked);
    return this.#done(misfit < 0 ? misfit : behind);
  }

  #begin(start: number): void {
    this.#fresh = false;
    this.#inFields = false;
    this.#start = start;
    this.#position = start;
    this.status = 0;
  }

  #done(result: number): number {
    this.#fresh = result !== 0;
    return result;
  }

  #move(distance: number): void {
    this.#start += distance;
    this.#position += distance;
    this.reasonStart += distance;
    this.reasonEnd += distance;
    if (this.#inFields) this.fields.move(distance);
  }

  /** Version, three digits and an optional reason; many upstreams omit the space before an empty reason. */
  #scanStatusLine(bytes: Buffer, end: number): number {
    const limit = this.#start + this.maxLine;
    const stop = end < limit ? end : limit;
    let position = this.#position;
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
    this.#position = position;
    if (position < stop && bytes[position] !== CR) return bytes[position] === LF ? fault.bareLf : fault.statusLine;
    if (position + 1 >= stop) return stop === limit ? fault.statusLine : 0;
    if (bytes[position + 1] !== LF) return fault.bareCr;
    this.reasonEnd = position;
    return position + 2;
  }
}

const numberAt = (bytes: Buffer, at: number): number =>
  ((bytes[at] ?? 0) - ZERO) * 100 + ((bytes[at + 1] ?? 0) - ZERO) * 10 + (bytes[at + 2] ?? 0) - ZERO;

/** RFC 9112 section 6.3, as a client of the upstream. Returns 0 or a fault. */
function readResponseFraming(head: ResponseHeadParser, asked: number): number {
  const misfit = findFraming(head.fields);
  if (misfit < 0) return misfit;
  const { status } = head;
  const isNewest = head.minorVersion === 1;
  const { chunked, length, connection } = found;
  if (chunked && !isNewest) return fault.codingVersion;
  if (status < FIRST_FINAL && (chunked || length > 0)) return fault.interimBody;
  head.contentLength = length;
  head.keepAlive = (connection & CLOSE) === 0 && (isNewest || (connection & KEEP_ALIVE) !== 0);
  head.upgrade = isNewest && status === SWITCHING_PROTOCOLS && found.upgrade && (connection & UPGRADE) !== 0;
  if (status === SWITCHING_PROTOCOLS && !head.upgrade) return fault.switching;
  if (asked === method.CONNECT && status >= OK && status < FIRST_REDIRECT) {
    head.bodyKind = NO_BODY;
    head.upgrade = true;
  } else if (status < FIRST_FINAL || status === NO_CONTENT) {
    head.bodyKind = NO_BODY;
    // An upstream that declares a body where none is allowed may send it: those bytes must not be read as a response.
    if (chunked || length > 0) head.keepAlive = false;
  } else if (asked === method.HEAD || status === NOT_MODIFIED) head.bodyKind = NO_BODY;
  else if (chunked) head.bodyKind = CHUNKED_BODY;
  else if (length >= 0) head.bodyKind = length === 0 ? NO_BODY : LENGTH_BODY;
  else {
    head.bodyKind = UNTIL_CLOSE;
    head.keepAlive = false;
  }
  return 0;
}
