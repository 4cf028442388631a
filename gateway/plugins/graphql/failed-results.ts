/**
 * Finds in a streaming JSON response the results of operations that failed: those with a list `errors` that is not empty
 * (GraphQL, October 2021, section 7.1.2). The response is a result, or a list of results for a batch. Nothing is kept
 * or parsed, so a large response takes no more memory than a small one.
 */

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const COLON = 0x3a;
const [BRACE_L, BRACE_R, BRACKET_L, BRACKET_R] = [0x7b, 0x7d, 0x5b, 0x5d];
const SPACE = 0x20;
const MEMBER = Buffer.from("errors");

/** 1 for bytes outside strings that are neither spaces nor parts of a number, `true`, `false` or `null`. */
const isStructure = new Uint8Array(256);
for (const byte of [QUOTE, COMMA, BRACE_L, BRACE_R, BRACKET_L, BRACKET_R]) isStructure[byte] = 1;

/** The token that is expected after the name `errors`. */
type Expected = "nothing" | "the value" | "an item";

export class FailedResults {
  readonly #failed = new Set<number>();
  #left: number;
  /** Whether the response is longer than the limit. */
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
  /** Number of characters of the name that are equal to those of `MEMBER`; -1: the name differs. */
  #equal = 0;
  #expected: Expected = "nothing";

  /** Whether no operation failed, as far as the whole response has been searched. */
  get areComplete(): boolean {
    return !this.#isCut && this.#failed.size === 0;
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
    return this.#failed.has(this.#level === 1 ? 0 : operation);
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
    } else if (this.#expected === "nothing") {
      while (at < end && isStructure[piece[at] ?? 0] === 0) at++;
    }
    return at;
  }

  #inString(byte: number): void {
    if (byte === QUOTE && !this.#isEscaped) {
      this.#isInString = false;
      if (this.#isName && this.#equal === MEMBER.length) this.#expected = "the value";
      this.#isName = false;
      return;
    }
    this.#isEscaped = byte === BACKSLASH && !this.#isEscaped;
    if (this.#isName) this.#equal = byte === MEMBER[this.#equal] ? this.#equal + 1 : -1;
  }

  #outsideStrings(byte: number): void {
    if (byte === COLON) return;
    if (this.#expected !== "nothing") this.#inErrors(byte);
    switch (byte) {
      case QUOTE:
        this.#isInString = true;
        this.#equal = 0;
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

  #inErrors(byte: number): void {
    if (this.#expected === "the value" && byte === BRACKET_L) {
      this.#expected = "an item";
      return;
    }
    if (this.#expected === "an item" && byte !== BRACKET_R) this.#failed.add(this.#result);
    this.#expected = "nothing";
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
