/** Names, tags, methods, header names and ids. */
import type { TextRule } from "./rule.ts";

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

const badCharacters = (value: string): string | undefined => {
  if (value.isWellFormed()) return undefined;
  const position = [...value].findIndex((character) => !character.isWellFormed()) + 1;
  return `invalid utf-8 character sequence detected at position ${position}`;
};

/** `__proto__` is well formed, but must not become a member of an object. */
export const headerName: TextRule = (value) =>
  /^[A-Za-z0-9\-_]+$/.test(value) && value !== "__proto__"
    ? undefined
    : `bad header name '${value}', allowed characters are A-Z, a-z, 0-9, '_', and '-'`;

export const nameRules = {
  uuid: (value) => (UUID.test(value) ? undefined : "expected a valid UUID"),
  sha256: (value) => (/^[0-9a-f]{64}$/.test(value) ? undefined : "expected a SHA-256 in lower-case hex"),
  /** ASCII letters, digits and `. - _ ~`, and all non-ASCII characters. */
  name: (value) =>
    badCharacters(value) ??
    (/^[A-Za-z0-9.\-_~\u0080-\u{10ffff}]*$/u.test(value)
      ? undefined
      : `invalid value '${value}': the only accepted ascii characters are alphanumerics or ., -, _, and ~`),
  /** Printable ASCII without `,` and `/`, which the tag filter of the admin API uses, and all non-ASCII characters. */
  tag: (value) =>
    badCharacters(value) ??
    (/^[ !-+\-.0-~\u0080-\u{10ffff}]*$/u.test(value)
      ? undefined
      : `invalid tag '${value}': expected printable ascii (except \`,\` and \`/\`) or valid utf-8 sequences`),
  method: (value) => (/^[A-Z]+$/.test(value) ? undefined : `invalid value: ${value}`),
  /** Any name of a header (RFC 9110 section 5.1). */
  "header-token": (value) =>
    /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/.test(value) ? undefined : `invalid name of a header: '${value}'`,
  "header-name": headerName,
  "key-name": headerName,
  "route-header": (value) =>
    value.toLowerCase() === "host"
      ? "cannot contain 'host' header, which must be specified in the 'hosts' attribute"
      : headerName(value),
} satisfies Readonly<Record<string, TextRule>>;
