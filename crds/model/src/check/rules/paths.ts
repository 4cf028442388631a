/** Paths of services and routes. */

import { compileRegex } from "@sluice/plugin-sdk";
import { normalizePath } from "../../matching/path.ts";
import type { TextRule } from "./rule.ts";

const PATH_CHARACTERS = /^\/[A-Za-z0-9.\-_~/%:@!$&'()*+,;=]*$/;

function badEncoding(path: string): string | undefined {
  const bad = /%(?![0-9A-Fa-f]{2}).{0,2}/.exec(path);
  return bad === null ? undefined : `invalid url-encoded value: '${bad[0]}'`;
}

function prefix(value: string): string | undefined {
  const fault = badEncoding(value);
  if (fault !== undefined) return fault;
  const normal = normalizePath(value);
  return normal === null || normal === value ? undefined : `non-normalized path, consider use '${normal}' instead`;
}

/**
 * Expressions without operators except a last `$`, such as those of the paths of Ingresses and of the Gateway API. They
 * are valid, and compiling each of thousands would take a tenth of the time for a change of all these paths.
 */
const LITERAL = /^(?:[A-Za-z0-9/_~%,;=@:!&'-]|\\[.+*?()|{}$^[\]-]){0,1000}\$?$/;

/** Requires a regular expression for RE2. The message has the reason: RE2 rejects some patterns that PCRE accepts. */
export const regexRule: TextRule = (source) => {
  if (LITERAL.test(source)) return undefined;
  const fault = compileRegex(source).violations?.[0];
  return fault && `not a valid regex: ${source} (${fault.message})`;
};

export const pathRules = {
  regex: regexRule,
  path: (value) => {
    if (!value.startsWith("/")) return "should start with: /";
    if (value.includes("//")) return "must not have empty segments";
    if (!PATH_CHARACTERS.test(value)) {
      return `invalid path: '${value}' (characters outside of the reserved list of RFC 3986 found)`;
    }
    return badEncoding(value);
  },
  /** A prefix in its normal form, or `~` and a regular expression. */
  "route-path": (value) => {
    if (!/^~?\//.test(value)) return "should start with: / (fixed path) or ~/ (regex path)";
    if (value.includes("//")) return "must not have empty segments";
    return value.startsWith("~") ? regexRule(value.slice(1)) : prefix(value);
  },
  /** An origin, or a regular expression for origins; `*` matches all. */
  origin: (value) => {
    if (value === "*") return undefined;
    const fault = compileRegex(value).violations?.[0];
    return fault && `'${value}' is not a valid regex (${fault.message})`;
  },
} satisfies Readonly<Record<string, TextRule>>;
