/** Text from configuration as the value of a header. */

/** Bytes that RFC 9110 5.5 does not allow in a header's value. */
const forbidden = (byte: number) => (byte < 0x20 && byte !== 0x09) || byte === 0x7f;

/**
 * The text's UTF-8 bytes, as Kong sends them; Node takes a header's value as Latin-1, one character for a byte. A
 * control character would end the header, so it becomes %XX.
 */
export function headerValue(text: string): string {
  let value = "";
  for (const byte of Buffer.from(text, "utf8")) {
    value += forbidden(byte) ? `%${byte.toString(16).toUpperCase().padStart(2, "0")}` : String.fromCharCode(byte);
  }
  return value;
}
