/**
 * A string that a regular expression matches: the first alternative of each group, one repetition for `*`, `+` and `?`,
 * and the minimum number of repetitions for `{m,n}`.
 */
import { compileRegex } from "@sluice/model";

/** Characters. A longer string would make no useful request. */
const MAX_LENGTH = 200;

/** The first of these that a class of characters contains represents the class. */
const CANDIDATES = [..."a1A-_./:~xyz0", ...Array.from({ length: 94 }, (_, at) => String.fromCharCode(33 + at))];

/** Null: none was found. That is the case for some expressions with word boundaries, or with characters outside ASCII. */
export function regexSample(source: string): string | null {
  const regex = compileRegex(source).value;
  if (regex === undefined) return null;
  const sample = new SampleReader(source).alternatives();
  return sample !== null && sample.length <= MAX_LENGTH && regex.test(sample) ? sample : null;
}

const CLASS = /\[\^?\]?(?:\\.|\[:\^?\w+:\]|[^\]\\])*\]/y;
const ESCAPE = /\\(?:[pP](?:\{[^}]*\}|.)|x(?:\{[^}]*\}|[\da-fA-F]{2})|[dDwWsS])/y;
const ANCHOR = /\\[AzbB]|[\^$]/y;
/** Also a group of flags without content, such as `(?i)`. */
const FLAGS = /\(\?[a-zA-Z-]+\)/y;
const GROUP_START = /\((?:\?(?:P?<\w+>|[a-zA-Z-]*:))?/y;
const REPETITION = /(?:([*+?])|\{(\d+)(?:,\d*)?\})\??/y;

/** Reads a valid expression from left to right. A method returns null if the expression has an unknown part. */
class SampleReader {
  readonly #source: string;
  #at = 0;

  constructor(source: string) {
    this.#source = source;
  }

  alternatives(): string | null {
    const first = this.#sequence();
    while (first !== null && this.#take(/\|/y)) if (this.#sequence() === null) return null;
    return first;
  }

  #sequence(): string | null {
    let sample = "";
    while (this.#at < this.#source.length && !this.#isNext("|") && !this.#isNext(")")) {
      const part = this.#part();
      if (part === null) return null;
      const [, operator, least] = this.#take(REPETITION) ?? [];
      const times = operator === undefined && least !== undefined ? Number(least) : 1;
      if (sample.length + part.length * times > MAX_LENGTH) return null;
      sample += part.repeat(times);
    }
    return sample;
  }

  #part(): string | null {
    if (this.#take(ANCHOR) || this.#take(FLAGS)) return "";
    if (this.#take(GROUP_START)) {
      const sample = this.alternatives();
      return this.#take(/\)/y) ? sample : null;
    }
    const [several] = this.#take(CLASS) ?? this.#take(ESCAPE) ?? this.#take(/\./y) ?? [];
    if (several !== undefined) return memberOf(several);
    const [literal] = this.#take(/\\[!-/:-@[-`{-~]|[^\\[(]/uy) ?? [];
    return literal?.replace(/^\\/, "") ?? null;
  }

  #isNext(character: string): boolean {
    return this.#source[this.#at] === character;
  }

  #take(pattern: RegExp): RegExpExecArray | null {
    pattern.lastIndex = this.#at;
    const found = pattern.exec(this.#source);
    if (found !== null) this.#at = pattern.lastIndex;
    return found;
  }
}

function memberOf(several: string): string | null {
  const regex = compileRegex(several).value;
  return CANDIDATES.find((character) => regex?.testWhole(character)) ?? null;
}
