/** The static table of HPACK (RFC 7541 appendix A), with the lines and kinds that the decoder copies. */
import { LINE_COST } from "./dynamic-table.ts";
import { fieldKind } from "./field-kind.ts";

/** Names and values by index; the first index is 1. */
export const staticFields: readonly (readonly [name: string, value: string])[] = [
  [":authority", ""],
  [":method", "GET"],
  [":method", "POST"],
  [":path", "/"],
  [":path", "/index.html"],
  [":scheme", "http"],
  [":scheme", "https"],
  [":status", "200"],
  [":status", "204"],
  [":status", "206"],
  [":status", "304"],
  [":status", "400"],
  [":status", "404"],
  [":status", "500"],
  ["accept-charset", ""],
  ["accept-encoding", "gzip, deflate"],
  ["accept-language", ""],
  ["accept-ranges", ""],
  ["accept", ""],
  ["access-control-allow-origin", ""],
  ["age", ""],
  ["allow", ""],
  ["authorization", ""],
  ["cache-control", ""],
  ["content-disposition", ""],
  ["content-encoding", ""],
  ["content-language", ""],
  ["content-length", ""],
  ["content-location", ""],
  ["content-range", ""],
  ["content-type", ""],
  ["cookie", ""],
  ["date", ""],
  ["etag", ""],
  ["expect", ""],
  ["expires", ""],
  ["from", ""],
  ["host", ""],
  ["if-match", ""],
  ["if-modified-since", ""],
  ["if-none-match", ""],
  ["if-range", ""],
  ["if-unmodified-since", ""],
  ["last-modified", ""],
  ["link", ""],
  ["location", ""],
  ["max-forwards", ""],
  ["proxy-authenticate", ""],
  ["proxy-authorization", ""],
  ["range", ""],
  ["referer", ""],
  ["refresh", ""],
  ["retry-after", ""],
  ["server", ""],
  ["set-cookie", ""],
  ["strict-transport-security", ""],
  ["transfer-encoding", ""],
  ["user-agent", ""],
  ["vary", ""],
  ["via", ""],
  ["www-authenticate", ""],
];

export const STATIC_COUNT = staticFields.length;

/** All entries as `name: value` lines, one after the other. */
export const staticLines = Buffer.from(staticFields.map(([name, value]) => `${name}: ${value}\r\n`).join(""), "latin1");

/** Offset in `staticLines`, by index. */
export const staticStarts = new Uint16Array(STATIC_COUNT + 1);
/** Bytes of the name, by index. */
export const staticNameLengths = new Uint8Array(STATIC_COUNT + 1);
/** Bytes of the value, by index. */
export const staticValueLengths = new Uint8Array(STATIC_COUNT + 1);
/** See field-kind.ts; by index. */
export const staticKinds = new Uint16Array(STATIC_COUNT + 1);

let start = 0;
for (const [at, [name, value]] of staticFields.entries()) {
  const index = at + 1;
  const valueStart = start + name.length + 2;
  staticStarts[index] = start;
  staticNameLengths[index] = name.length;
  staticValueLengths[index] = value.length;
  const range = { nameStart: start, nameEnd: start + name.length, valueStart, valueEnd: valueStart + value.length };
  staticKinds[index] = fieldKind(staticLines, range);
  start += name.length + value.length + LINE_COST;
}
