/** Start lines: methods, versions, and the request line with one space between its parts (RFC 9112 section 3). */
import { CR, DOT, LF, NINE, SP, TARGET, TOKEN, ZERO } from "./bytes.ts";
import { fault } from "./faults.ts";
import type { RequestHead } from "./request-head.ts";
import { readTarget } from "./target.ts";

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

/** Bytes of a version. */
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

export const NOT_YET = -1;

/** Continues the scan. Returns the offset after the line, 0 when more bytes are needed, or a fault. */
export function scanRequestLine(head: RequestHead, bytes: Buffer, end: number): number {
  let position = head.position;
  if (head.methodStart === NOT_YET) {
    // One empty line is allowed before a request: some clients send one after a body (RFC 9112 section 2.2).
    if (position === end) return 0;
    if (bytes[position] === CR) {
      if (position + 1 === end) return 0;
      if (bytes[position + 1] !== LF) return fault.bareCr;
      position += 2;
    }
    head.methodStart = position;
  }
  const limit = head.methodStart + head.maxLine;
  const stop = end < limit ? end : limit;
  if (head.methodEnd === NOT_YET) {
    while (position < stop && TOKEN[bytes[position] ?? 0] === 1) position++;
    if (position >= stop) return cut(head, position, stop === limit);
    if (bytes[position] !== SP) return bytes[position] === LF ? fault.bareLf : fault.method;
    if (position === head.methodStart) return fault.method;
    head.methodEnd = position;
    position++;
  }
  if (head.targetEnd === NOT_YET) {
    while (position < stop && TARGET[bytes[position] ?? 0] === 1) position++;
    if (position >= stop) return cut(head, position, stop === limit);
    if (position === head.methodEnd + 1) return fault.requestLine;
    if (bytes[position] !== SP) {
      if (bytes[position] !== CR) return bytes[position] === LF ? fault.bareLf : fault.target;
      // A line without a version is an HTTP/0.9 request.
      if (position + 1 === stop) return cut(head, position, stop === limit);
      return bytes[position + 1] === LF ? fault.version : fault.bareCr;
    }
    head.targetEnd = position;
    position++;
  }
  const version = versionAt(bytes, position, stop);
  if (version < 0) return version;
  const behind = position + VERSION_LENGTH;
  if (version === 0 || behind === stop) return cut(head, position, stop === limit);
  if (bytes[behind] !== CR) return bytes[behind] === LF ? fault.bareLf : fault.requestLine;
  if (behind + 1 === stop) return cut(head, position, stop === limit);
  if (bytes[behind + 1] !== LF) return fault.bareCr;
  head.minorVersion = version - 1;
  const misfit = readTarget(head, bytes);
  return misfit < 0 ? misfit : behind + 2;
}

/** Result for a line that continues beyond the available bytes. */
function cut(head: RequestHead, position: number, tooLong: boolean): number {
  head.position = position;
  return tooLong ? fault.lineTooLong : 0;
}
