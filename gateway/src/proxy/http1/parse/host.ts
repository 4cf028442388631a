/** uri-host [":" port] (RFC 9110 section 7.2, RFC 3986 section 3.2). */
import {
  CLOSE_BRACKET,
  COLON,
  HEX,
  IPV6,
  NINE,
  NO_HEX,
  OPEN_BRACKET,
  PERCENT,
  REG_NAME,
  sameText,
  ZERO,
} from "./bytes.ts";

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
