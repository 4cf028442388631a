/** Encodes header values of the configuration, and reads values of Content-Encoding. */

const TOKEN = /^[!#$%&'*+\-.^_`|~\dA-Za-z]+$/;

/** Whether the text is a token, such as a method or a header name (RFC 9110 section 5.6.2). */
export const isToken = (text: string): boolean => TOKEN.test(text);

/** Whether the grammar of header values excludes the byte (RFC 9110 5.5). */
const forbidden = (byte: number) => (byte < 0x20 && byte !== 0x09) || byte === 0x7f;

/**
 * The text's UTF-8 bytes, as Kong sends them. Node expects header values in Latin-1, one character per byte. A line
 * break would end the header, so control characters are written as %XX.
 */
export function headerValue(text: string): string {
  let value = "";
  for (const byte of Buffer.from(text, "utf8")) {
    value += forbidden(byte) ? `%${byte.toString(16).toUpperCase().padStart(2, "0")}` : String.fromCharCode(byte);
  }
  return value;
}

/** Whether the values name a coding except identity, so that the bytes of the body are not text (RFC 9110 8.4). */
export const isEncoded = (contentEncodings: readonly string[]): boolean =>
  contentEncodings.some((codings) => codings.split(",").some((coding) => !/^\s*(identity)?\s*$/i.test(coding)));
