/**
 * Forms of a request target, and the methods that may use each (RFC 9112 section 3.2); uri-host [":" port] (RFC 9110
 * section 7.2, RFC 3986 section 3.2).
 */
import {
  ASTERISK,
  CLOSE_BRACKET,
  COLON,
  DOT,
  HEX,
  IPV6,
  isWord,
  NINE,
  NO_HEX,
  OPEN_BRACKET,
  PERCENT,
  PLAIN_PATH,
  QUESTION,
  REG_NAME,
  SLASH,
  sameText,
  ZERO,
} from "./bytes.ts";
import { fault } from "./faults.ts";
import { method, methodId } from "./start-line.ts";

/** `/path?query` */
export const ORIGIN_FORM = 0;
/** `http://host:port/path?query` */
export const ABSOLUTE_FORM = 1;
/** `host:port`, for CONNECT only. */
export const AUTHORITY_FORM = 2;
/** `*`, for OPTIONS only. */
export const ASTERISK_FORM = 3;

/** The members of `RequestHeadParser` that describe its target, and the offsets from which they follow. */
export interface RequestTargetParts {
  readonly methodStart: number;
  readonly methodEnd: number;
  readonly targetEnd: number;
  method: number;
  targetForm: number;
  secureTarget: boolean;
  pathStart: number;
  pathEnd: number;
  plainPath: boolean;
  authorityStart: number;
  authorityEnd: number;
}

/** Parses the target of a complete line. Returns 0 or a fault. */
export function readTarget(head: RequestTargetParts, bytes: Buffer): number {
  const start = head.methodEnd + 1;
  const end = head.targetEnd;
  const id = methodId(bytes, head.methodStart, head.methodEnd);
  head.method = id;
  head.authorityStart = start;
  head.authorityEnd = start;
  head.secureTarget = false;
  if (id === method.CONNECT) return readAuthorityForm(head, bytes);
  if (bytes[start] === SLASH) {
    head.targetForm = ORIGIN_FORM;
    readPath(head, bytes, start);
    return 0;
  }
  if (bytes[start] === ASTERISK && end === start + 1) {
    head.targetForm = ASTERISK_FORM;
    head.pathStart = start;
    head.pathEnd = start;
    head.plainPath = false;
    return id === method.OPTIONS ? 0 : fault.target;
  }
  return readAbsoluteForm(head, bytes);
}

function readAuthorityForm(head: RequestTargetParts, bytes: Buffer): number {
  const start = head.methodEnd + 1;
  const end = head.targetEnd;
  head.targetForm = AUTHORITY_FORM;
  head.authorityEnd = end;
  head.pathStart = end;
  head.pathEnd = end;
  head.plainPath = false;
  const colon = hostEnd(bytes, start, end);
  return colon < 0 || colon + 1 >= end ? fault.target : 0;
}

function readAbsoluteForm(head: RequestTargetParts, bytes: Buffer): number {
  const start = head.methodEnd + 1;
  const end = head.targetEnd;
  let colon = start;
  while (colon < end && bytes[colon] !== COLON) colon++;
  head.secureTarget = isWord(bytes, start, colon, "https");
  if (!head.secureTarget && !isWord(bytes, start, colon, "http")) return fault.target;
  if (colon + 2 >= end || bytes[colon + 1] !== SLASH || bytes[colon + 2] !== SLASH) return fault.target;
  const authority = colon + 3;
  let at = authority;
  while (at < end && bytes[at] !== SLASH && bytes[at] !== QUESTION) at++;
  if (at === authority) return fault.target;
  if (hostEnd(bytes, authority, at) < 0) return fault.hostSyntax;
  head.targetForm = ABSOLUTE_FORM;
  head.authorityStart = authority;
  head.authorityEnd = at;
  readPath(head, bytes, at);
  return 0;
}

/** Finds the end of the path, and whether it is plain: no escapes, empty segments or dot segments. */
function readPath(head: RequestTargetParts, bytes: Buffer, start: number): void {
  const end = head.targetEnd;
  let plain = true;
  let afterSlash = false;
  let at = start;
  for (; at < end; at++) {
    const byte = bytes[at] ?? 0;
    if (byte === QUESTION) break;
    if (PLAIN_PATH[byte] !== 1 || (afterSlash && (byte === SLASH || byte === DOT))) plain = false;
    afterSlash = byte === SLASH;
  }
  head.pathStart = start;
  head.pathEnd = at;
  head.plainPath = plain;
}

const HIGHEST_PORT = 65_535;

/**
 * The end of the host in [start, end): the colon before the port, or `end`. -1 when the range is not `uri-host [":"
 * port]`. The range may be empty. A port needs a host, but may have no digits.
 */
export function hostEnd(bytes: Buffer, start: number, end: number): number {
  let at = start;
  if (at < end && bytes[at] === OPEN_BRACKET) {
    at++;
    while (at < end && IPV6[bytes[at] ?? 0] === 1) at++;
    if (at === start + 1 || at === end || bytes[at] !== CLOSE_BRACKET) return -1;
    at++;
  } else {
    while (at < end) {
      const byte = bytes[at] ?? 0;
      if (REG_NAME[byte] === 1) at++;
      else if (byte === PERCENT && isEncoded(bytes, at, end)) at += 3;
      else break;
    }
  }
  if (at === end) return end;
  if (bytes[at] !== COLON || at === start) return -1;
  return portOf(bytes, at, end) < 0 ? -1 : at;
}

const isEncoded = (bytes: Buffer, at: number, end: number): boolean =>
  at + 2 < end && HEX[bytes[at + 1] ?? 0] !== NO_HEX && HEX[bytes[at + 2] ?? 0] !== NO_HEX;

/** The port after the colon at `colon`; 0 without digits, -1 when invalid. */
export function portOf(bytes: Buffer, colon: number, end: number): number {
  let port = 0;
  for (let at = colon + 1; at < end; at++) {
    const byte = bytes[at] ?? 0;
    if (byte < ZERO || byte > NINE) return -1;
    port = port * 10 + (byte - ZERO);
    if (port > HIGHEST_PORT) return -1;
  }
  return port;
}

/** Whether two valid authorities name the same host and port; a missing port means `defaultPort`. */
export function sameAuthority(
  bytes: Buffer,
  first: { readonly start: number; readonly end: number },
  second: { readonly start: number; readonly end: number },
  defaultPort: number,
): boolean {
  const firstHost = hostEnd(bytes, first.start, first.end);
  const secondHost = hostEnd(bytes, second.start, second.end);
  if (!sameText(bytes, first.start, firstHost, second.start, secondHost)) return false;
  const firstPort = portOf(bytes, firstHost, first.end) || defaultPort;
  return firstPort === (portOf(bytes, secondHost, second.end) || defaultPort);
}
