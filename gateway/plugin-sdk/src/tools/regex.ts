/**
 * Regular expressions from configuration, on RE2 (re2js): matching time is linear in the text, whatever the pattern
 * (docs/decisions/0026-linear-time-regular-expressions.md). The syntax is PCRE's without constructs that need
 * backtracking.
 *
 * Rejected: lookahead and lookbehind `(?=` `(?!` `(?<=` `(?<!`, backreferences `\1` `\k<n>` `(?P=n)`, atomic groups
 * `(?>`, possessive quantifiers `a++`, branch reset `(?|`, conditionals `(?(`, recursion `(?R)`, comments `(?#`, the
 * flag `(?x)`, `\K` `\G` `\Z` `\R` `\X` `\h` `\N` `\e` `\c`, `\uXXXX`, duplicate group names, group names with
 * characters other than letters, digits and `_`, and repetitions above 1000.
 *
 * Different: `$` is the very end of the text (PCRE also matches before a last line feed), `\d` `\w` `\s` `\b` are
 * ASCII.
 */
import { RE2JS, RE2JSException } from "re2js";
import type { Checked } from "../violation.ts";
import { expandedSize } from "./regex-size.ts";

/** Maximum instructions of a compiled pattern. Their number bounds the matching cost per character of the text. */
const MAX_PROGRAM = 10_000;

export interface PrefixMatch {
  /** The number of UTF-16 code units that matched, from the start of the text. */
  readonly length: number;
  /**
   * Values of the groups that participated, by name and by number, in an object without a prototype. If the pattern has
   * groups, `0` is the whole match.
   */
  readonly captures: Readonly<Record<string, string>>;
}

export interface Regex {
  readonly source: string;
  /** Whether the pattern matches anywhere in the text. */
  test(text: string): boolean;
  /** Whether the pattern matches the text from its first to its last character. */
  testWhole(text: string): boolean;
  /**
   * The match that begins at the start of the text, leftmost alternative first as in Perl; undefined if there is none.
   */
  matchPrefix(text: string): PrefixMatch | undefined;
}

/** An invalid or too large pattern has one violation with an empty path. RE2's message says why it is invalid. */
export function compileRegex(source: string): Checked<Regex> {
  const atoms = expandedSize(source);
  if (atoms > MAX_PROGRAM) return tooLarge(atoms);
  let compiled: RE2JS;
  try {
    compiled = RE2JS.compile(source);
  } catch (error) {
    if (!(error instanceof RE2JSException)) throw error;
    return { violations: [{ path: [], message: error.message.replace(/^error parsing regexp: /, "") }] };
  }
  const size = compiled.programSize();
  if (size > MAX_PROGRAM) return tooLarge(size);
  return { value: regexOf(source, compiled) };
}

const tooLarge = (size: number) => ({
  violations: [{ path: [], message: `too large: ${size} instructions, at most ${MAX_PROGRAM}` }],
});

const regexOf = (source: string, compiled: RE2JS): Regex => ({
  source,
  test: (text) => compiled.test(text),
  testWhole: (text) => compiled.testExact(text),
  matchPrefix(text) {
    const matcher = compiled.matcher(text);
    if (!matcher.lookingAt()) return undefined;
    const captures: Record<string, string> = Object.create(null);
    const groups = matcher.groupCount();
    for (let number = 0; groups > 0 && number <= groups; number++) {
      const value = matcher.group(number);
      if (value !== null) captures[number] = value;
    }
    for (const [name, value] of Object.entries(matcher.getNamedGroups())) {
      if (value !== null) captures[name] = value;
    }
    return { length: matcher.end(), captures };
  },
});
