/** The value of the Date header (RFC 9110 section 6.6.1), formatted once per second. */
let second = 0;
let text = "";

export function currentDate(): string {
  const now = Math.floor(Date.now() / 1000);
  if (now !== second) {
    second = now;
    text = new Date(now * 1000).toUTCString();
  }
  return text;
}
