/**
 * Expressions of templates: a subset of Lua 5.1, parsed once and evaluated without code generation. An expression reads
 * values of a request; it can call three methods of strings, but no other functions, and cannot loop or change
 * anything, so its cost is linear in its length.
 *
 * Operators by precedence, lowest first, as in Lua (reference manual, section 2.5.6): `or`; `and`; `==` `~=`; `..`,
 * which is right-associative; `not`. nil and false are false; every other value is true, including the empty string.
 *
 * Strings are byte strings as in Lua: one character (U+0000 to U+00FF) per byte.
 */
import { type Token, tokenAt, UnsupportedExpression } from "./tokens.ts";

/** Undefined is Lua's nil. */
export type TemplateValue = string | boolean | undefined;

export const templateTables = ["headers", "query_params", "uri_captures", "shared"] as const;

/** The names under which an expression finds the values of a request. */
export type TemplateTable = (typeof templateTables)[number];

/** The values of one request. For `headers` the name is in lower case. */
export type TemplateScope = (table: TemplateTable, name: string) => TemplateValue;

export type Evaluate = (scope: TemplateScope) => TemplateValue;

/**
 * Thrown when an expression fails for one request: because it would fail in Lua too, or because a result is too long.
 * The message contains no value of the request.
 */
export class TemplateError extends Error {
  override readonly name = "TemplateError";
}

/** Maximum nesting of parentheses, including those of `$( )`. */
export const MAX_TEMPLATE_DEPTH = 32;
/** Maximum bytes of a concatenation, and of a rendered template. */
export const MAX_RENDERED = 64 * 1024;

export interface ParsedExpression {
  readonly evaluate: Evaluate;
  /** The position after the closing parenthesis. */
  readonly end: number;
}

/** Parses from the position after an opening parenthesis to its closing one. Throws UnsupportedExpression. */
export const parseExpression = (text: string, start: number): ParsedExpression => new Parser(text, start).parse();

class Parser {
  readonly #text: string;
  #token: Token | undefined;
  #depth = 0;

  constructor(text: string, start: number) {
    this.#text = text;
    this.#token = tokenAt(text, start);
  }

  parse(): ParsedExpression {
    const evaluate = this.#or();
    const closing = this.#token;
    if (closing === undefined) throw new UnsupportedExpression("a `)` is missing");
    if (!this.#is(")")) throw this.#unexpected();
    return { evaluate, end: closing.end };
  }

  #or(): Evaluate {
    this.#depth++;
    if (this.#depth > MAX_TEMPLATE_DEPTH) throw new UnsupportedExpression(`nested deeper than ${MAX_TEMPLATE_DEPTH}`);
    const operands = [this.#and()];
    while (this.#accept("or")) operands.push(this.#and());
    this.#depth--;
    return chain(operands, isTrue);
  }

  #and(): Evaluate {
    const operands = [this.#comparison()];
    while (this.#accept("and")) operands.push(this.#comparison());
    return chain(operands, (value) => !isTrue(value));
  }

  #comparison(): Evaluate {
    let left = this.#concatenation();
    for (;;) {
      const equal = this.#accept("==");
      if (!equal && !this.#accept("~=")) return left;
      const [before, after] = [left, this.#concatenation()];
      left = (scope) => (before(scope) === after(scope)) === equal;
    }
  }

  #concatenation(): Evaluate {
    const operands = [this.#not()];
    while (this.#accept("..")) operands.push(this.#not());
    const [only] = operands;
    return operands.length === 1 && only !== undefined ? only : (scope) => concatenated(operands, scope);
  }

  #not(): Evaluate {
    let count = 0;
    while (this.#accept("not")) count++;
    const operand = this.#withMethods();
    if (count === 0) return operand;
    return count % 2 === 1 ? (scope) => !isTrue(operand(scope)) : (scope) => isTrue(operand(scope));
  }

  #withMethods(): Evaluate {
    const isLiteral = this.#token?.kind === "string";
    let value = this.#primary();
    while (this.#is(":")) {
      if (isLiteral) throw new UnsupportedExpression("a string must be in parentheses before `:`");
      this.#next();
      value = this.#method(value);
    }
    return value;
  }

  #method(object: Evaluate): Evaluate {
    const name = this.#name();
    this.#expect("(");
    const integers: number[] = [];
    while (!this.#is(")")) {
      if (integers.length > 0) this.#expect(",");
      integers.push(this.#integer());
    }
    this.#expect(")");
    const [first, last = -1] = integers;
    if (name === "sub" && first !== undefined && integers.length <= 2) {
      return (scope) => substring(text(object(scope), ":sub"), first, last);
    }
    if (integers.length === 0 && name === "lower") return (scope) => lower(text(object(scope), ":lower"));
    if (integers.length === 0 && name === "upper") return (scope) => upper(text(object(scope), ":upper"));
    throw new UnsupportedExpression(
      `the method :${name} with this number of arguments (${integers.length}) is not understood`,
    );
  }

  #primary(): Evaluate {
    const token = this.#token;
    if (token === undefined) throw new UnsupportedExpression("the expression is not complete");
    if (token.kind === "name") return this.#member();
    this.#next();
    if (token.kind === "string") return () => token.text;
    if (token.kind === "keyword") {
      if (token.text === "nil") return () => undefined;
      if (token.text === "true") return () => true;
      if (token.text === "false") return () => false;
    }
    if (token.kind !== "symbol" || token.text !== "(") throw unexpected(token);
    const inner = this.#or();
    this.#expect(")");
    return inner;
  }

  /** `headers.name` or `headers["name"]`, and `uri_captures[1]` for a group by its number. */
  #member(): Evaluate {
    const name = this.#name();
    const table = templateTables.find((each) => each === name);
    if (table === undefined) throw new UnsupportedExpression(`\`${name}\` is not understood`);
    let member: string;
    if (this.#accept(".")) member = this.#name();
    else {
      this.#expect("[");
      const isGroup = table === "uri_captures" && this.#token?.kind === "integer";
      if (this.#token?.kind !== "string" && !isGroup) throw this.#unexpected();
      member = isGroup ? String(Number(this.#token?.text)) : (this.#token?.text ?? "");
      this.#next();
      this.#expect("]");
    }
    if (this.#is(".") || this.#is("[") || this.#is("(")) throw this.#unexpected();
    const key = table === "headers" ? lower(member) : member;
    return (scope) => scope(table, key);
  }

  #name(): string {
    const token = this.#token;
    if (token?.kind !== "name") throw this.#unexpected();
    this.#next();
    return token.text;
  }

  #integer(): number {
    const sign = this.#accept("-") ? -1 : 1;
    const token = this.#token;
    if (token?.kind !== "integer") throw this.#unexpected();
    this.#next();
    return sign * Number(token.text);
  }

  #is(text: string): boolean {
    const token = this.#token;
    return token !== undefined && token.text === text && (token.kind === "symbol" || token.kind === "keyword");
  }

  #accept(text: string): boolean {
    if (!this.#is(text)) return false;
    this.#next();
    return true;
  }

  #expect(text: string): void {
    if (!this.#accept(text)) throw this.#unexpected();
  }

  #next(): void {
    if (this.#token !== undefined) this.#token = tokenAt(this.#text, this.#token.end);
  }

  #unexpected(): UnsupportedExpression {
    return this.#token === undefined
      ? new UnsupportedExpression("the expression is not complete")
      : unexpected(this.#token);
  }
}

const unexpected = ({ text: found }: Token) => new UnsupportedExpression(`\`${found}\` is not understood here`);

const isTrue = (value: TemplateValue): boolean => value !== undefined && value !== false;

/**
 * The returned function evaluates the operands in order up to the first value for which `decides` is true, and returns
 * this value, else the last value.
 */
function chain(operands: readonly Evaluate[], decides: (value: TemplateValue) => boolean): Evaluate {
  const [only] = operands;
  if (operands.length === 1 && only !== undefined) return only;
  return (scope) => {
    let value: TemplateValue;
    for (const operand of operands) {
      value = operand(scope);
      if (decides(value)) break;
    }
    return value;
  };
}

function concatenated(operands: readonly Evaluate[], scope: TemplateScope): string {
  let joined = "";
  for (const operand of operands) {
    joined += text(operand(scope), "..");
    if (joined.length > MAX_RENDERED) throw new TemplateError(`a concatenation is longer than ${MAX_RENDERED} bytes`);
  }
  return joined;
}

function text(value: TemplateValue, operator: string): string {
  if (typeof value === "string") return value;
  throw new TemplateError(`\`${operator}\` on ${value === undefined ? "nil" : "a boolean"}`);
}

/** Positions count from 1; negative ones from the end (Lua 5.1 reference manual, `string.sub`). */
function substring(bytes: string, first: number, last: number): string {
  const from = Math.max(first < 0 ? bytes.length + first + 1 : first, 1);
  const to = last < 0 ? bytes.length + last + 1 : last;
  return bytes.slice(from - 1, Math.max(to, from - 1));
}

/** Only ASCII letters are changed, as in Lua's C locale. */
const lower = (bytes: string): string => bytes.replace(/[A-Z]+/g, (letters) => letters.toLowerCase());
const upper = (bytes: string): string => bytes.replace(/[a-z]+/g, (letters) => letters.toUpperCase());
