/** Lower-cases a header name. The return type lets the compiler refuse lookups by names that may contain upper case. */
export const lowerCase = (name: string): Lowercase<string> => name.toLowerCase() as Lowercase<string>;

/**
 * Headers that delimit messages or belong to a connection: the proxy itself sends them (RFC 9110 7.6.1, RFC 9112 6).
 */
export const connectionHeaders: ReadonlySet<string> = new Set([
  ...["connection", "content-length", "expect", "http2-settings", "keep-alive", "proxy-connection", "te", "trailer"],
  ...["transfer-encoding", "upgrade"],
]);

/** A header name with its derived forms, computed once, for headers that are used in every request. */
export class HeaderName {
  readonly name: string;
  readonly lower: string;
  /** Precedes the value in a head: the line end of the previous line, the name and a colon. */
  readonly linePrefix: string;
  /** One of 32 bits, by a hash of the name: names with different bits differ. */
  readonly bit: number;

  constructor(name: string) {
    this.name = name;
    this.lower = name.toLowerCase();
    this.bit = bitOf(this.lower);
    this.linePrefix = `\r\n${name}: `;
  }

  /** The header with this value as a line of a head. */
  line(value: string): string {
    return this.linePrefix + value;
  }
}

/** A hash of the length and of two characters suffices, because names usually end differently. */
function bitOf(lower: string): number {
  const { length } = lower;
  return 1 << ((length + 3 * lower.charCodeAt(length >> 1) + 7 * lower.charCodeAt(length - 1)) & 31);
}

/** A header whose value rarely changes between requests: the last line is cached. */
export class CachedLineHeaderName extends HeaderName {
  #value = "";
  #line = this.linePrefix;

  override line(value: string): string {
    if (value !== this.#value) {
      this.#value = value;
      this.#line = this.linePrefix + value;
    }
    return this.#line;
  }
}

/** 1 for characters that `foldedName` keeps: lower-case letters, digits and dashes. */
const keptInNames = new Uint8Array(256);
for (const character of "-0123456789abcdefghijklmnopqrstuvwxyz") keptInNames[character.charCodeAt(0)] = 1;

/**
 * A name in lower case with a dash for each character that is neither letter nor digit. Upstreams that turn headers
 * into variables replace a dash by `_` (RFC 3875 section 4.1.18). Some of these upstreams also replace other
 * characters: PHP replaces dots, and lighttpd replaces all other characters. Such upstreams read `X.Real_IP` as
 * `X-Real-IP` (RFC 9110 section 17.10).
 */
export function foldedName(lower: string): string {
  for (let at = 0; at < lower.length; at++) {
    if (keptInNames[lower.charCodeAt(at)] !== 1) return lower.replace(/[^\da-z]/g, "-");
  }
  return lower;
}
