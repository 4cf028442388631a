/** Byte constants of HTTP/1.1 and tables of allowed bytes (RFC 9110 section 5, RFC 9112, RFC 3986). */

export const HTAB = 0x09;
export const LF = 0x0a;
export const CR = 0x0d;
export const SP = 0x20;
export const QUOTE = 0x22;
export const HASH = 0x23;
export const PERCENT = 0x25;
export const ASTERISK = 0x2a;
export const COMMA = 0x2c;
export const DASH = 0x2d;
export const DOT = 0x2e;
export const SLASH = 0x2f;
export const ZERO = 0x30;
export const NINE = 0x39;
export const COLON = 0x3a;
export const SEMICOLON = 0x3b;
export const EQUALS = 0x3d;
export const QUESTION = 0x3f;
export const OPEN_BRACKET = 0x5b;
export const BACKSLASH = 0x5c;
export const CLOSE_BRACKET = 0x5d;

const DIGITS = "0123456789";
const LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/** Table with 1 for each byte of `characters`, else 0. */
function among(characters: string): Uint8Array {
  const table = new Uint8Array(256);
  for (let at = 0; at < characters.length; at++) table[characters.charCodeAt(at)] = 1;
  return table;
}

/** tchar: methods, field names, codings. */
export const TOKEN = among(`!#$%&'*+-.^_\`|~${DIGITS}${LETTERS}`);

/**
 * field-vchar, SP and HTAB: allowed in field values and reason phrases. All other control characters, including DEL,
 * are refused.
 */
export const VALUE = new Uint8Array(256).fill(1, SP);
VALUE[HTAB] = 1;
VALUE[0x7f] = 0;

/**
 * Bytes allowed in a request target: visible ASCII except `#`, and bytes above ASCII. This is more than RFC 3986
 * allows, because browsers send `|`, `{` and `"` unescaped and curl sends UTF-8 in a query. The upstream receives such
 * characters of a path as %XX; in a query, only bytes above ASCII are escaped. `#` is refused, because servers disagree
 * on fragments.
 */
export const TARGET = new Uint8Array(256).fill(1, SP + 1);
TARGET[0x7f] = 0;
TARGET[HASH] = 0;

/** unreserved and sub-delims: the bytes of a registered name, besides %XX. */
export const REG_NAME = among(`-._~!$&'()*+,;=${DIGITS}${LETTERS}`);

/** Hexadecimal digits, colons and dots: the bytes of an IPv6 address. */
export const IPV6 = among(`:.${DIGITS}abcdefABCDEF`);

/** Entry of HEX for bytes that are not hexadecimal digits. */
export const NO_HEX = 0xff;
/** The value of each hexadecimal digit; NO_HEX for any other byte. */
export const HEX = new Uint8Array(256).fill(NO_HEX);
for (let value = 0; value < 16; value++) {
  const digit = value.toString(16);
  HEX[digit.charCodeAt(0)] = value;
  HEX[digit.toUpperCase().charCodeAt(0)] = value;
}

/** Each byte in lower case. */
export const LOWER = new Uint8Array(256);
for (let byte = 0; byte < 256; byte++) LOWER[byte] = byte >= 0x41 && byte <= 0x5a ? byte + 0x20 : byte;

/**
 * Each byte in lower case, and a dash for each byte of a token that is neither letter nor digit. Upstreams that turn
 * headers into variables read `X_Consumer_ID`, and some `X.Consumer.ID`, as `X-Consumer-ID` (see `foldedName`).
 */
export const FOLD = LOWER.slice();
for (let byte = 0; byte < 256; byte++)
  if (TOKEN[byte] === 1 && !/[\da-z]/i.test(String.fromCharCode(byte))) FOLD[byte] = DASH;

/** Whether two ranges of `bytes` are equal, ignoring case. */
export function sameText(bytes: Buffer, first: number, firstEnd: number, second: number, secondEnd: number): boolean {
  if (firstEnd - first !== secondEnd - second) return false;
  for (let at = first, other = second; at < firstEnd; at++, other++) {
    if (LOWER[bytes[at] ?? 0] !== LOWER[bytes[other] ?? 0]) return false;
  }
  return true;
}

/** Whether a range of `bytes` equals `word` (in lower case), ignoring case. */
export function isWord(bytes: Buffer, start: number, end: number, word: string): boolean {
  if (end - start !== word.length) return false;
  for (let at = 0; at < word.length; at++) {
    if (LOWER[bytes[start + at] ?? 0] !== word.charCodeAt(at)) return false;
  }
  return true;
}

/** Whether `text`, with one character per byte, is at `start`. */
export function isText(bytes: Buffer, start: number, text: string): boolean {
  for (let at = 0; at < text.length; at++) if (bytes[start + at] !== (text.charCodeAt(at) & 0xff)) return false;
  return true;
}
