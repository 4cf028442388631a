/** Comparing media types (RFC 9110 section 8.3.1) as Kong does. */

interface MediaType {
  readonly type: string;
  readonly subtype: string;
  /** By lower-case name. */
  readonly parameters: ReadonlyMap<string, string>;
}

const TOKEN = "[!#$%&'*+.^_`|~\\w-]+";
const ESSENCE = new RegExp(`^\\s*(${TOKEN})/(${TOKEN})\\s*(?=;|$)`);
const PARAMETER = new RegExp(`\\s*;\\s*(?:(${TOKEN})=(?:(${TOKEN})|"((?:[^"\\\\]|\\\\.)*)"))?\\s*(?=;|$)`, "y");

/** Reads a media type; null: the text is malformed. */
function mediaTypeOf(text: string): MediaType | null {
  if (text.trim() === "*") return { type: "*", subtype: "*", parameters: new Map() };
  const essence = ESSENCE.exec(text);
  if (essence === null) return null;
  const [whole, type = "", subtype = ""] = essence;
  const parameters = new Map<string, string>();
  for (PARAMETER.lastIndex = whole.length; PARAMETER.lastIndex < text.length; ) {
    const parameter = PARAMETER.exec(text);
    if (parameter === null) return null;
    const [, name, token, quoted] = parameter;
    if (name !== undefined) parameters.set(name.toLowerCase(), token ?? quoted?.replace(/\\(.)/g, "$1") ?? "");
  }
  return { type: type.toLowerCase(), subtype: subtype.toLowerCase(), parameters };
}

/**
 * Returns a function that tells whether a value of Content-Type matches one of the configured media types, whose type
 * and subtype may be `*`. The parameters must be the same.
 */
export function createMediaTypeMatch(configured: readonly string[]): (contentType: string) => boolean {
  const expected = configured.flatMap((text) => mediaTypeOf(text) ?? []);
  return (contentType) => {
    const given = mediaTypeOf(contentType);
    return given !== null && expected.some((one) => matches(one, given));
  };
}

const matches = (expected: MediaType, given: MediaType): boolean =>
  (expected.type === "*" || expected.type === given.type) &&
  (expected.subtype === "*" || expected.subtype === given.subtype) &&
  expected.parameters.size === given.parameters.size &&
  expected.parameters.entries().every(([name, value]) => given.parameters.get(name) === value);
