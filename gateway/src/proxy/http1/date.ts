/** The Date header (RFC 9110 section 6.6.1): made once a second. */
let second = 0;
let text = "";

/** As a line of a head. */
export function dateLine(): string {
  const now = Math.floor(Date.now() / 1000);
  if (now !== second) {
    second = now;
    text = `Date: ${new Date(now * 1000).toUTCString()}\r\n`;
  }
  return text;
}
