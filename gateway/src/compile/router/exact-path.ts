/**
 * Exact paths. Kong writes "exactly /foo" as the regular expression `~/foo$`. Regular expressions are tried one by one,
 * so the router keeps those that match a single path in its radix tree.
 */

/** Literal characters, and ASCII punctuation after a backslash, up to an anchor at the end. */
const LITERAL = /^(?:[^\\.+*?()[\]{}^$|]|\\[!-/:-@[-`{-~])*\$$/;

/**
 * The only string that the regular expression matches from start to end, as UTF-16 code units; null: it may match
 * several strings. `$` is the very end of the string, without a line feed after it (plugin-sdk/src/tools/regex.ts).
 *
 * Null also for an unpaired surrogate: RE2 compares code points, so its comparison may differ from that of code units.
 */
export const exactPathOf = (source: string): string | null =>
  LITERAL.test(source) && source.isWellFormed() ? source.slice(0, -1).replace(/\\(.)/g, "$1") : null;
