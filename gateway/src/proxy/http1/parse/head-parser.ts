/**
 * The base of the parsers of request and response heads: one scan of the bytes, which continues where it stopped, then
 * framing and connection handling.
 */
import { DOT, NINE, ZERO } from "./bytes.ts";
import { fault } from "./faults.ts";
import { FieldSection, scanFields } from "./fields.ts";
import { NO_BODY } from "./framing.ts";

export interface HeadLimits {
  /** Maximum bytes of the first line. A request with a longer one is answered 414. */
  readonly line: number;
  /** Maximum bytes of all header lines with the empty line after them. A larger request is answered 431. */
  readonly fields: number;
  /** Maximum number of header lines. A request with more is answered 431. */
  readonly count: number;
}

export const defaultHeadLimits: HeadLimits = { line: 8_192, fields: 32_768, count: 100 };

/**
 * Reused for every head of a connection, or of a process: it holds only the state of one head. All offsets are absolute
 * in `fields.bytes`. Except `position` and `fields`, members are valid only after `parse` has returned more than 0.
 */
export abstract class HeadParser {
  readonly fields: FieldSection;
  readonly maxLine: number;
  /** 1 for HTTP/1.1, 0 for HTTP/1.0 */
  minorVersion = 1;
  /** NO_BODY or another constant of framing.ts. */
  bodyKind = NO_BODY;
  /** Content-Length, including that of responses without a body (HEAD, 304); -1 when absent. */
  contentLength = -1;
  /** Whether the connection may be reused after this message. */
  keepAlive = true;
  /** Request: the client asks for another protocol. Response: the connection switched protocols. */
  upgrade = false;
  /** Offset at which the scan of an incomplete first line continues. */
  position = 0;
  protected start = 0;
  #inFields = false;
  #fresh = true;

  constructor({ line, fields, count }: HeadLimits = defaultHeadLimits) {
    this.maxLine = line;
    this.fields = new FieldSection({ bytes: fields, count });
  }

  /** Prepares the scan of the first line. */
  protected abstract begin(): void;
  /** Continues with the first line. Returns the offset after it, 0 when more bytes are needed, or a fault. */
  protected abstract scanLine(bytes: Buffer, end: number): number;
  /** Determines body and connection handling from the fields. Returns 0 or a fault. */
  protected abstract readFraming(): number;
  /** Adjusts the offsets of the first line, which has moved by `distance`. */
  protected abstract moveLine(distance: number): void;

  /** Prepares for the next head. Required only after `parse` returned 0. */
  reset(): void {
    this.#fresh = true;
  }

  /**
   * Parses the head that begins at `start`. Returns the offset after it, or a fault (`parseErrorOf`), or 0 when the
   * head is incomplete: call again with the same bytes and more after them (buffer and start may differ).
   */
  parse(bytes: Buffer, start: number, end: number): number {
    if (this.#fresh) {
      this.#inFields = false;
      this.start = start;
      this.position = start;
      this.begin();
    } else if (start !== this.start) this.#move(start - this.start);
    const result = this.#scan(bytes, end);
    this.#fresh = result !== 0;
    return result;
  }

  #scan(bytes: Buffer, end: number): number {
    if (!this.#inFields) {
      const behind = this.scanLine(bytes, end);
      if (behind <= 0) return behind;
      this.#inFields = true;
      this.fields.begin(behind);
    }
    const behind = scanFields(this.fields, bytes, end);
    if (behind <= 0) return behind;
    const misfit = this.readFraming();
    return misfit < 0 ? misfit : behind;
  }

  #move(distance: number): void {
    this.start += distance;
    this.position += distance;
    this.moveLine(distance);
    if (this.#inFields) this.fields.move(distance);
  }
}

/**
 * Ids of methods, so that common ones are recognised without a string; 0 is any other token. Case-sensitive (RFC 9110
 * section 9.1).
 */
export const method = {
  GET: 1,
  POST: 2,
  PUT: 3,
  HEAD: 4,
  PATCH: 5,
  DELETE: 6,
  OPTIONS: 7,
  CONNECT: 8,
  TRACE: 9,
  QUERY: 10,
} as const;

export const methodNames: readonly string[] = ["", ...Object.keys(method)];

export function methodId(bytes: Buffer, start: number, end: number): number {
  const length = end - start;
  const first = bytes[start] ?? 0;
  for (let id = 1; id < methodNames.length; id++) {
    const name = methodNames[id] ?? "";
    if (name.length === length && name.charCodeAt(0) === first && isMethod(bytes, start, name)) return id;
  }
  return 0;
}

function isMethod(bytes: Buffer, start: number, name: string): boolean {
  for (let at = 1; at < name.length; at++) {
    if (bytes[start + at] !== name.charCodeAt(at)) return false;
  }
  return true;
}

/** Bytes of a version, such as `HTTP/1.1`. */
export const VERSION_LENGTH = 8;

/** "HTTP/", case-sensitive. */
const HTTP = Buffer.from("HTTP/");
const ONE = ZERO + 1;

/** 2 for HTTP/1.1, 1 for HTTP/1.0, 0 when more bytes are needed, or a fault. */
export function versionAt(bytes: Buffer, at: number, stop: number): number {
  for (let letter = 0; letter < HTTP.length; letter++) {
    if (at + letter >= stop) return 0;
    if (bytes[at + letter] !== HTTP[letter]) return fault.versionSyntax;
  }
  if (at + 5 >= stop) return 0;
  const major = bytes[at + 5] ?? 0;
  if (!isDigit(major)) return fault.versionSyntax;
  if (at + 6 >= stop) return 0;
  if (bytes[at + 6] !== DOT) return fault.versionSyntax;
  if (at + 7 >= stop) return 0;
  const minor = bytes[at + 7] ?? 0;
  if (!isDigit(minor)) return fault.versionSyntax;
  return major === ONE && (minor === ZERO || minor === ONE) ? minor - ZERO + 1 : fault.version;
}

const isDigit = (byte: number): boolean => byte >= ZERO && byte <= NINE;
