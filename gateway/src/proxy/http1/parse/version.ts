/** `HTTP/1.1` and `HTTP/1.0` in request lines and status lines. */
import { DOT, NINE, ZERO } from "./bytes.ts";
import { fault } from "./faults.ts";

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
