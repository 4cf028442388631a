/** Parts of start lines: methods and versions (RFC 9112 sections 2.3 and 3.1). */
import { DOT, NINE, ZERO } from "./bytes.ts";
import { fault } from "./faults.ts";

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
