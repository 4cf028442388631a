/** Parses the parts of a complete multipart/form-data body (RFC 7578). Text is Latin-1: one character per byte. */

interface Part {
  readonly name: string;
  readonly value: string;
  /** The start of the delimiter before the part. */
  readonly start: number;
  /** The start of the delimiter after the part. */
  readonly end: number;
}

/**
 * The boundary in a Content-Type. Undefined when there is none, or several: other parsers might choose a different one.
 */
export function boundaryOf(contentType: string): string | undefined {
  const [boundary, ...others] = (headerParameters(contentType) ?? []).filter(({ name }) => name === "boundary");
  return others.length === 0 ? boundary?.value || undefined : undefined;
}

/** The positions of delimiters: `--boundary` at the start of a line, up to the closing one. */
function delimiters(text: string, delimiter: string): readonly number[] {
  const found: number[] = [];
  for (let at = text.indexOf(delimiter); at !== -1; at = text.indexOf(delimiter, at + delimiter.length)) {
    if (at !== 0 && !text.startsWith("\r\n", at - 2)) continue;
    found.push(at);
    if (text.startsWith("--", at + delimiter.length)) break;
  }
  return found;
}

/** The parts of a body, in order. A part is returned once for each of its names; a part without a name is left out. */
export function multipartParts(text: string, boundary: string): readonly Part[] {
  const delimiter = `--${boundary}`;
  const starts = delimiters(text, delimiter);
  const parts: Part[] = [];
  for (const [index, start] of starts.entries()) {
    const end = starts[index + 1];
    if (end === undefined) break;
    const head = text.indexOf("\r\n", start + delimiter.length);
    if (head === -1 || head >= end) continue;
    // The search ends with the part. Otherwise, in a body of many parts with unterminated headers, each search would
    // scan the rest of the body.
    const length = text.slice(head, end).indexOf("\r\n\r\n");
    if (length === -1) continue;
    const blank = head + length;
    const value = text.slice(blank + 4, end - 2);
    for (const name of namesOf(text.slice(head, blank))) parts.push({ name, value, start, end });
  }
  return parts;
}

/** The names in a part's Content-Disposition. Only a manipulated request has more than one. */
function namesOf(headers: string): readonly string[] {
  return headers
    .replace(/\r\n[ \t]+/g, " ")
    .split("\r\n")
    .filter((line) => /^content-disposition:/i.test(line))
    .flatMap((line) => headerParameters(line) ?? [])
    .filter(({ name }) => name === "name")
    .map(({ value }) => value);
}

export function withoutParts(text: string, boundary: string, names: readonly string[]): string {
  let rest = "";
  let from = 0;
  for (const { name, start, end } of multipartParts(text, boundary)) {
    if (!names.includes(name) || start < from) continue;
    rest += text.slice(from, start);
    from = end;
  }
  return rest + text.slice(from);
}

interface HeaderParameter {
  /** In lower case. */
  readonly name: string;
  readonly value: string;
}

/** `;`, a name, and a token or a quoted string in which a backslash escapes the next character. */
const PARAMETER = /\s*;\s*(?:([^\s=;"]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s;"]*)))?/sy;

/**
 * All parameters of a header value (`multipart/form-data; boundary=b`, RFC 9110 5.6.6) in order, including repeated
 * ones. Undefined when the value cannot be parsed to its end, because other parsers may interpret it differently.
 */
function headerParameters(value: string): readonly HeaderParameter[] | undefined {
  const parameters: HeaderParameter[] = [];
  let at = value.indexOf(";");
  if (at === -1) return parameters;
  const end = value.trimEnd().length;
  while (at < end) {
    PARAMETER.lastIndex = at;
    const match = PARAMETER.exec(value);
    if (match === null) return undefined;
    const [, name, quoted, token] = match;
    if (name !== undefined) {
      parameters.push({ name: name.toLowerCase(), value: quoted?.replace(/\\(.)/gs, "$1") ?? token ?? "" });
    }
    at = PARAMETER.lastIndex;
  }
  return parameters;
}
