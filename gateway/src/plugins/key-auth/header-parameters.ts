/** Parses the parameters of a header value: `multipart/form-data; boundary=b` (RFC 9110 5.6.6, RFC 6266 4.1). */

export interface HeaderParameter {
  /** In lower case. */
  readonly name: string;
  readonly value: string;
}

/** `;`, a name, and a token or a quoted string in which a backslash escapes the next character. */
const PARAMETER = /\s*;\s*(?:([^\s=;"]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s;"]*)))?/sy;

/**
 * All parameters in order, including repeated ones. Undefined when the value cannot be parsed to its end, because other
 * parsers may interpret it differently.
 */
export function headerParameters(value: string): readonly HeaderParameter[] | undefined {
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
