/** The header Cache-Control (RFC 9111 section 5.2). */

/** The argument of each directive by the directive's lower-case name; "" for a directive without an argument. */
export type Directives = ReadonlyMap<string, string>;

const NONE: Directives = new Map();

/** A directive: a name, and perhaps an argument (a token or a quoted string, in which a comma ends no directive). */
const DIRECTIVE = /([^\s,=;]+)\s*(?:=\s*(?:"((?:[^"\\]|\\.)*)"?|([^\s,]*)))?/g;

/**
 * The directives in a header. If a directive is repeated, its smallest argument counts.
 *
 * @param values All values of the header
 */
export function directivesOf(values: readonly string[]): Directives {
  if (values.length === 0) return NONE;
  const directives = new Map<string, string>();
  for (const [, name = "", quoted, token] of values.join(",").matchAll(DIRECTIVE)) {
    const lower = name.toLowerCase();
    const argument = quoted ?? token ?? "";
    const before = directives.get(lower);
    if (before === undefined || !(secondsOf(before) <= secondsOf(argument))) directives.set(lower, argument);
  }
  return directives;
}

/**
 * A directive's argument in seconds, at most 2³¹ (RFC 9111 section 1.2.2); undefined: no such directive. Text that is
 * not a number counts as 0, so a `max-age` with such text makes a response stale.
 */
export function secondsIn(directives: Directives, name: string): number | undefined {
  const argument = directives.get(name);
  return argument === undefined ? undefined : secondsOf(argument);
}

const MAX_SECONDS = 2 ** 31;

const secondsOf = (argument: string): number => (/^\d+$/.test(argument) ? Math.min(Number(argument), MAX_SECONDS) : 0);
