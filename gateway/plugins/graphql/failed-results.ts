/**
 * Finds in a streaming JSON response the results of operations that failed: those with a list `errors` that is not empty
 * (GraphQL, October 2021, section 7.1.2), or with `errors` that are neither a list nor null. The response is a result, or
 * a list of results for a batch. Nothing is kept or parsed, so a large response takes no more memory than a small one.
 */

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const COLON = 0x3a;
const [BRACE_L, BRACE_R, BRACKET_L, BRACKET_R] = [0x7b, 0x7d, 0x5b, 0x5d];
const SPACE = 0x20;
const LETTER_N = 0x6e;
/** Characters of a member's name that are kept: one more than `errors` has. */
const MAX_NAME = 7;

/** 1 for bytes outside strings that are neither spaces nor parts of a number, `true`, `false` or `null`. */
const isStructure = new Uint8Array(256);
for (const byte of [QUOTE, COMMA, BRACE_L, BRACE_R, BRACKET_L, BRACKET_R]) isStructure[byte] = 1;

/** The token that is expected after the name `errors` or `data`. */
type Expected = "nothing" | "errors" | "an error" | "data";

export class FailedResults {
  /** Null until an operation has failed. */
  #failed: Set<number> | null = null;
  #left: number;
  #isCut = false;
  /** Open brackets. */
  #depth = 0;
  /** The depth of a result's members. */
  #level = 1;
  /** The position of the current result in a batch. */
  #result = -1;
  #isResult = false;
  #isInString = false;
  #isEscaped = false;
  /** Whether the next string, or the current one, is the name of a result's member. */
  #isName = false;
  /** The first characters of the name. */
  #name = "";
  #expected: Expected = "nothing";
  /** Whether the last result has the member `data`, and its value is an object. */
  #hasData = false;
  /**
   * Whether the response cannot be a result, or has a name with an escape sequence, which may be another spelling of
   * `errors`.
   */
  #isDoubtful = false;

  /** Whether the response is longer than the limit. */
  get isCut(): boolean {
    return this.#isCut;
  }

  /** Whether the whole response has been searched, and is a single result with data and without errors. */
  get isSuccess(): boolean {
    const isComplete = !this.#isCut && this.#depth === 0 && !this.#isInString && this.#level === 1;
    return isComplete && this.#hasData && !this.#isDoubtful && this.#failed === null;
  }

  /** @param limit Number of bytes that are searched */
  constructor(limit: number) {
    this.#left = limit;
  }

  /**
   * Whether an operation failed. A single result for a batch applies to all its operations.
   *
   * @param operation Position in the batch; 0 without a batch
   */
  has(operation: number): boolean {
    return this.#failed?.has(this.#level === 1 ? 0 : operation) === true;
  }

  search(piece: Buffer): void {
    const end = Math.min(piece.length, this.#left);
    if (end < piece.length) this.#isCut = true;
    this.#left -= end;
    for (let at = 0; at < end; at++) {
      at = this.#skipped(piece, at, end);
      const byte = piece[at] ?? SPACE;
      if (this.#isInString) this.#inString(byte);
      else if (byte > SPACE) this.#outsideStrings(byte);
    }
  }

  /** The position of the next byte that can change the state: most bytes cannot. */
  #skipped(piece: Buffer, from: number, end: number): number {
    let at = from;
    if (this.#isInString) {
      if (!this.#isName && !this.#isEscaped) while (at < end && piece[at] !== QUOTE && piece[at] !== BACKSLASH) at++;
    } else if (this.#expected === "nothing" && this.#depth > 0) {
      while (at < end && isStructure[piece[at] ?? 0] === 0) at++;
    }
    return at;
  }

  #inString(byte: number): void {
    if (byte === QUOTE && !this.#isEscaped) {
      this.#isInString = false;
      if (this.#isName && (this.#name === "errors" || this.#name === "data")) this.#expected = this.#name;
      this.#isName = false;
      return;
    }
    this.#isEscaped = byte === BACKSLASH && !this.#isEscaped;
    if (!this.#isName) return;
    if (byte === BACKSLASH) this.#isDoubtful = true;
    if (this.#name.length < MAX_NAME) this.#name += String.fromCharCode(byte);
  }

  #outsideStrings(byte: number): void {
    if (byte === COLON && this.#depth > 0) return;
    if (this.#expected !== "nothing") this.#inMember(byte);
    // A result is one value, with nothing before or after it.
    if (this.#depth === 0 && (this.#result >= 0 || (byte !== BRACE_L && byte !== BRACKET_L))) this.#isDoubtful = true;
    switch (byte) {
      case QUOTE:
        this.#isInString = true;
        this.#name = "";
        break;
      case BRACE_L:
      case BRACKET_L:
        this.#open(byte);
        break;
      case BRACE_R:
      case BRACKET_R:
        this.#depth--;
        if (this.#depth < this.#level) this.#isResult = false;
        break;
      case COMMA:
        this.#isName = this.#isResult && this.#depth === this.#level;
        break;
    }
  }

  /** @param byte The first one of the value of `errors` or `data`, or of the first item of `errors` */
  #inMember(byte: number): void {
    const expected = this.#expected;
    this.#expected = expected === "errors" && byte === BRACKET_L ? "an error" : "nothing";
    if (expected === "data") this.#hasData = byte === BRACE_L;
    else if (expected === "an error" ? byte !== BRACKET_R : byte !== BRACKET_L && byte !== LETTER_N) {
      this.#failed ??= new Set();
      this.#failed.add(this.#result);
    }
  }

  #open(byte: number): void {
    if (this.#depth === 0 && byte === BRACKET_L) this.#level = 2;
    this.#depth++;
    if (this.#depth !== this.#level) return;
    this.#result++;
    this.#isResult = byte === BRACE_L;
    this.#isName = this.#isResult;
  }
}
