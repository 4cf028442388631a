/** The normal form of a URL path, for the prefixes of routes and for requests. */

/** RFC 3986's reserved characters and `%`: decoding them would change the path's meaning. */
const RESERVED = new Set("!*'();:@&=+$,/?%#[]");

/** A `%` that does not begin an escape: characters decoded after it could complete one (`%2%65` would become `%2e`). */
const BROKEN_ESCAPE = /%(?![\dA-F]{2})/i;

/** One percent-encoded character: ASCII, a UTF-8 sequence of two to four bytes, or else any byte. */
const ENCODED =
  /%[0-7][\dA-F]|%[CD][\dA-F]%[89AB][\dA-F]|%E[\dA-F](?:%[89AB][\dA-F]){2}|%F[0-7](?:%[89AB][\dA-F]){3}|%[\dA-F]{2}/gi;

/**
 * Decodes escaped characters that are not reserved, writes all other escapes in upper case, removes dot segments and
 * merges slashes. Normalizing the result again changes nothing. Null: a `%` is not followed by two hexadecimal digits.
 * A sequence that is not valid UTF-8 stays encoded. `path` has no query; a path that does not start with `/` (as after
 * stripping a prefix) loses leading `./` and `../`.
 */
export function normalizePath(path: string): string | null {
  const escaped = path.includes("%");
  if (escaped && BROKEN_ESCAPE.test(path)) return null;
  const decoded = escaped ? path.replace(ENCODED, decode) : path;
  return decoded.includes("/.") || decoded.includes("//") || decoded.startsWith(".")
    ? removeDotSegments(decoded)
    : decoded;
}

function decode(encoded: string): string {
  try {
    const character = decodeURIComponent(encoded);
    return RESERVED.has(character) ? encoded.toUpperCase() : character;
  } catch {
    return encoded.toUpperCase();
  }
}

/** Removes dot segments (RFC 3986 section 5.2.4), and merges slashes. */
function removeDotSegments(path: string): string {
  const absolute = path.startsWith("/");
  const segments = path.split("/");
  const last = segments.at(-1);
  const kept: string[] = [];
  for (const segment of segments) {
    if (segment === "..") kept.pop();
    else if (segment !== "" && segment !== ".") kept.push(segment);
  }
  const directory = kept.length > 0 && (last === "" || last === "." || last === "..");
  return `${absolute ? "/" : ""}${kept.join("/")}${directory ? "/" : ""}`;
}
