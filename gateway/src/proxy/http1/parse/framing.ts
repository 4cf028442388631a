/** Framing and connection options from the fields of a head (RFC 9112 sections 6 and 9, RFC 9110 section 7.6.1). */
import { COMMA, CR, HTAB, isWord, NINE, SP, sameText, TOKEN, ZERO } from "./bytes.ts";
import { fault } from "./faults.ts";
import { knownFieldIds, LAST_HOP, LOOKALIKE } from "./field-names.ts";
import { DROP, type FieldSection, ID, STRIDE } from "./fields.ts";

/** Kind of body: none. */
export const NO_BODY = 0;
/** Kind of body: delimited by Content-Length. */
export const LENGTH_BODY = 1;
/** Kind of body: delimited by chunked coding. */
export const CHUNKED_BODY = 2;
/** Kind of body: delimited by the end of the connection; responses only. */
export const UNTIL_CLOSE = 3;

/** Bit of the connection option `close`. */
export const CLOSE = 1;
/** Bit of the connection option `keep-alive`. */
export const KEEP_ALIVE = 2;
/** Bit of the connection option `upgrade`. */
export const UPGRADE = 4;

/** Maximum number of other connection options; no honest client sends more. */
const MOST_OPTIONS = 32;

/** Result of `findFraming`. One shared object suffices, because a head is parsed synchronously. */
export const foundFraming = {
  /** Index of the last Host; -1 when absent. */
  host: -1,
  hosts: 0,
  /** Content-Length; -1 when absent. */
  length: -1,
  chunked: false,
  /** Bitwise OR of CLOSE, KEEP_ALIVE and UPGRADE. */
  connection: 0,
  /** Whether a non-empty Upgrade field is present. */
  upgrade: false,
  /** Index of the last Expect; -1 when absent. */
  expect: -1,
};

/** Reads the fields into `foundFraming`, and marks with DROP those that are not forwarded. Returns 0 or a fault. */
export function findFraming(section: FieldSection): number {
  const { bytes, kinds, offsets, count } = section;
  foundFraming.host = -1;
  foundFraming.hosts = 0;
  foundFraming.length = -1;
  foundFraming.chunked = false;
  foundFraming.connection = 0;
  foundFraming.upgrade = false;
  foundFraming.expect = -1;
  let codings = 0;
  let options = 0;
  for (let index = 0; index < count; index++) {
    const kind = kinds[index] ?? 0;
    const id = kind & ID;
    if (id === 0 || id > LAST_HOP) continue;
    if ((kind & LOOKALIKE) !== 0) {
      kinds[index] = kind | DROP;
      continue;
    }
    const start = offsets[index * STRIDE + 2] ?? 0;
    const end = offsets[index * STRIDE + 3] ?? 0;
    if (id === knownFieldIds.host) {
      foundFraming.host = index;
      foundFraming.hosts++;
    } else if (id === knownFieldIds["content-length"]) {
      if (foundFraming.length >= 0) return fault.lengthRepeated;
      foundFraming.length = contentLengthOf(bytes, start, end);
      if (foundFraming.length < 0) return fault.lengthSyntax;
    } else if (id === knownFieldIds.expect) {
      foundFraming.expect = index;
    } else {
      kinds[index] = kind | DROP;
      if (id === knownFieldIds["transfer-encoding"]) {
        codings++;
        // Trailing whitespace is refused, because it hides a coding from some parsers.
        const misfit = bytes[end] === CR ? codingFault(bytes, start, end) : fault.codingSyntax;
        if (misfit < 0) return misfit;
        foundFraming.chunked = true;
      } else if (id === knownFieldIds.connection) {
        options += readOptions(section, start, end);
        if (options > MOST_OPTIONS) return fault.connection;
      } else if (id === knownFieldIds.upgrade && end > start) foundFraming.upgrade = true;
    }
  }
  if (codings > 1) return fault.codingSyntax;
  return foundFraming.chunked && foundFraming.length >= 0 ? fault.lengthAndCoding : 0;
}

/** 1*DIGIT without leading zeros, up to 2^53 - 1; -1 for anything else. */
export function contentLengthOf(bytes: Buffer, start: number, end: number): number {
  if (start === end || end - start > 16 || (bytes[start] === ZERO && end - start > 1)) return -1;
  let length = 0;
  for (let at = start; at < end; at++) {
    const byte = bytes[at] ?? 0;
    if (byte < ZERO || byte > NINE) return -1;
    length = length * 10 + (byte - ZERO);
  }
  return length <= Number.MAX_SAFE_INTEGER ? length : -1;
}

/**
 * 0 for `chunked` alone, else a fault. The gateway does not decode other codings, and parsers disagree on the end of a
 * body whose codings do not end with a single `chunked`.
 */
function codingFault(bytes: Buffer, start: number, end: number): number {
  if (isWord(bytes, start, end, "chunked")) return 0;
  let at = start;
  for (;;) {
    const name = at;
    while (at < end && TOKEN[bytes[at] ?? 0] === 1) at++;
    const last = isWord(bytes, name, at, "chunked");
    if (at === name) return fault.codingSyntax;
    at = skipBlanks(bytes, at, end);
    if (at === end) return last ? fault.codingUnknown : fault.codingSyntax;
    if (last || bytes[at] !== COMMA) return fault.codingSyntax;
    at = skipBlanks(bytes, at + 1, end);
  }
}

/** Reads a Connection value and marks the fields that it names. Returns the number of unknown options. */
function readOptions(section: FieldSection, start: number, end: number): number {
  const { bytes } = section;
  let others = 0;
  for (let at = start; at < end; at++) {
    at = skipBlanks(bytes, at, end);
    const name = at;
    while (at < end && bytes[at] !== COMMA) at++;
    let nameEnd = at;
    while (nameEnd > name && (bytes[nameEnd - 1] === SP || bytes[nameEnd - 1] === HTAB)) nameEnd--;
    if (nameEnd === name) continue;
    if (isWord(bytes, name, nameEnd, "keep-alive")) foundFraming.connection |= KEEP_ALIVE;
    else if (isWord(bytes, name, nameEnd, "close")) foundFraming.connection |= CLOSE;
    else if (isWord(bytes, name, nameEnd, "upgrade")) foundFraming.connection |= UPGRADE;
    else if (++others <= MOST_OPTIONS) dropNamed(section, name, nameEnd);
  }
  return others;
}

/**
 * Marks with DROP the fields whose names Connection lists, except fields that every recipient needs: Connection must
 * not list them (RFC 9110 section 7.6.1).
 */
function dropNamed({ bytes, offsets, kinds, count }: FieldSection, start: number, end: number): void {
  for (let index = 0; index < count; index++) {
    const name = offsets[index * STRIDE] ?? 0;
    const nameEnd = offsets[index * STRIDE + 1] ?? 0;
    const kind = kinds[index] ?? 0;
    // Without Content-Length the message would have no end, and a dropped Date would not be replaced.
    const isForAll = (kind & ID) === knownFieldIds["content-length"] || (kind & ID) === knownFieldIds.date;
    if (!isForAll && nameEnd - name === end - start && sameText(bytes, name, nameEnd, start, end)) {
      kinds[index] = kind | DROP;
    }
  }
}

function skipBlanks(bytes: Buffer, start: number, end: number): number {
  let at = start;
  while (at < end && (bytes[at] === SP || bytes[at] === HTAB)) at++;
  return at;
}
