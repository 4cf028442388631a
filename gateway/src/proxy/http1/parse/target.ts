/**
 * Checks whether a request target has a form that its method may use (RFC 9112 section 3.2), and whether its host and
 * port are valid (`uri-host [":" port]`, RFC 9110 section 7.2, RFC 3986 section 3.2).
 */
import {
  ASTERISK,
  CLOSE_BRACKET,
  COLON,
  HEX,
  IPV6,
  isWord,
  NINE,
  NO_HEX,
  OPEN_BRACKET,
  PERCENT,
  QUESTION,
  REG_NAME,
  SLASH,
  sameText,
  ZERO,
} from "./bytes.ts";
import { fault } from "./faults.ts";
import { method } from "./head-parser.ts";

/** Start and end of a target's host and port; start and end are equal in origin and asterisk form. */
export interface TargetAuthority {
  start: number;
  end: number;
  /** Default port of an absolute-form target's scheme; 0 in other forms. */
  defaultPort: number;
}

interface ScannedLine {
  readonly method: number;
  readonly methodEnd: number;
  readonly targetEnd: number;
}

const HTTP_PORT = 80;
const HTTPS_PORT = 443;

/** Checks the target of a complete line, and sets `authority`. Returns 0 or a fault. */
export function readTarget(line: ScannedLine, bytes: Buffer, authority: TargetAuthority): number {
  const start = line.methodEnd + 1;
  const end = line.targetEnd;
  authority.start = start;
  authority.end = start;
  authority.defaultPort = 0;
  if (line.method === method.CONNECT) {
    authority.end = end;
    const colon = hostEnd(bytes, start, end);
    return colon < 0 || colon + 1 >= end ? fault.target : 0;
  }
  if (bytes[start] === SLASH) return 0;
  if (bytes[start] === ASTERISK && end === start + 1) return line.method === method.OPTIONS ? 0 : fault.target;
  return readAbsoluteForm(bytes, end, authority);
}

/** Reads `http://host:port/path?query`, or the same with `https`. Returns 0 or a fault. */
function readAbsoluteForm(bytes: Buffer, end: number, authority: TargetAuthority): number {
  const { start } = authority;
  let colon = start;
  while (colon < end && bytes[colon] !== COLON) colon++;
  const isSecure = isWord(bytes, start, colon, "https");
  if (!isSecure && !isWord(bytes, start, colon, "http")) return fault.target;
  if (colon + 2 >= end || bytes[colon + 1] !== SLASH || bytes[colon + 2] !== SLASH) return fault.target;
  authority.start = colon + 3;
  let at = authority.start;
  while (at < end && bytes[at] !== SLASH && bytes[at] !== QUESTION) at++;
  if (at === authority.start) return fault.target;
  authority.end = at;
  authority.defaultPort = isSecure ? HTTPS_PORT : HTTP_PORT;
  return hostEnd(bytes, authority.start, at) < 0 ? fault.hostSyntax : 0;
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
function portOf(bytes: Buffer, colon: number, end: number): number {
  let port = 0;
  for (let at = colon + 1; at < end; at++) {
    const byte = bytes[at] ?? 0;
    if (byte < ZERO || byte > NINE) return -1;
    port = port * 10 + (byte - ZERO);
    if (port > HIGHEST_PORT) return -1;
  }
  return port;
}

/** Whether a Host field names the host and port of a target. Both must be valid. */
export function sameAuthority(
  bytes: Buffer,
  target: Readonly<TargetAuthority>,
  host: { readonly start: number; readonly end: number },
): boolean {
  const targetColon = hostEnd(bytes, target.start, target.end);
  const hostColon = hostEnd(bytes, host.start, host.end);
  if (!sameText(bytes, target.start, targetColon, host.start, hostColon)) return false;
  const port = portOf(bytes, targetColon, target.end) || target.defaultPort;
  return port === (portOf(bytes, hostColon, host.end) || target.defaultPort);
}
