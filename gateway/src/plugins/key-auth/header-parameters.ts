/** Parameters of a header's value: `multipart/form-data; boundary=b` (RFC 9110 5.6.6, RFC 6266 4.1). */

export interface HeaderParameter {
  /** In lower case. */
  readonly name: string;
  readonly value: string;
}

/** `;`, a name, and a token or a quoted string in which a backslash takes the next character literally. */
const PARAMETER = /\s*;\s*(?:([^\s=;"]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s;"]*)))?/sy;

/**
 * All parameters in order, also those that stand twice. Undefined when the value cannot be read to its end: what another
 * reader makes of such a value is not known.
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
