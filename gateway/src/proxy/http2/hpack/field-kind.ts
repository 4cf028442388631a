/** Classifies a decoded field once, so that references to an entry of a table need no second check. */
import { COLON, HTAB, LOWER, SP, TOKEN, VALUE } from "../../http1/parse/bytes.ts";
import { headerIdOf } from "../../http1/parse/field-names.ts";
import { PLAIN } from "../../http1/parse/fields.ts";

/** In a kind: a pseudo-header field; the low byte is one of `pseudo`. Otherwise the low byte is the id of the name. */
export const PSEUDO = 0x800;
/** In a kind: the name is invalid in HTTP/2 (RFC 9113 section 8.2.1). */
export const BAD_NAME = 0x1000;
/** In a kind: the value is invalid. */
export const BAD_VALUE = 0x2000;

/** Pseudo-header fields of requests and responses; 0 is any other one. */
export const pseudo = { method: 1, scheme: 2, authority: 3, path: 4, protocol: 5, status: 6 } as const;

const pseudoNames = Object.entries(pseudo).map(([name, id]) => ({ bytes: Buffer.from(`:${name}`), id }));

/** 1 for the bytes of names: those of tokens, without upper-case letters. */
const NAME = TOKEN.map((isToken, byte) => (isToken === 1 && LOWER[byte] === byte ? 1 : 0));

/** Offsets of name and value. */
export interface FieldRange {
  readonly nameStart: number;
  readonly nameEnd: number;
  readonly valueStart: number;
  readonly valueEnd: number;
}

/** The bits of `http1/parse/fields.ts` (id, LOOKALIKE, PLAIN) with those of this file. */
export const fieldKind = (bytes: Buffer, { nameStart, nameEnd, valueStart, valueEnd }: FieldRange): number =>
  nameKind(bytes, nameStart, nameEnd) | valueKind(bytes, valueStart, valueEnd);

export function nameKind(bytes: Buffer, start: number, end: number): number {
  if (start === end) return BAD_NAME;
  if (bytes[start] === COLON) {
    const found = pseudoNames.find((name) => bytes.compare(name.bytes, 0, name.bytes.length, start, end) === 0);
    return PSEUDO | (found?.id ?? 0);
  }
  for (let at = start; at < end; at++) if (NAME[bytes[at] ?? 0] !== 1) return BAD_NAME;
  return headerIdOf(bytes, start, end) | PLAIN;
}

export function valueKind(bytes: Buffer, start: number, end: number): number {
  if (start === end) return 0;
  if (isBlank(bytes[start] ?? 0) || isBlank(bytes[end - 1] ?? 0)) return BAD_VALUE;
  for (let at = start; at < end; at++) if (VALUE[bytes[at] ?? 0] !== 1) return BAD_VALUE;
  return 0;
}

const isBlank = (byte: number): boolean => byte === SP || byte === HTAB;
