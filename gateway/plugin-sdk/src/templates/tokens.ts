/** Splits the text of an expression into tokens (Lua 5.1 reference manual, section 2.1; only the supported forms). */

export type Token =
  | { readonly kind: "name" | "keyword" | "symbol"; readonly text: string; readonly end: number }
  | { readonly kind: "string"; readonly text: string; readonly end: number }
  | { readonly kind: "integer"; readonly text: string; readonly end: number };

/** Thrown when a text is outside the supported subset of Lua. The message names what is not supported. */
export class UnsupportedExpression extends Error {
  override readonly name = "UnsupportedExpression";
}

const KEYWORDS: ReadonlySet<string> = new Set(["and", "or", "not", "nil", "true", "false"]);
const SPACE = /[ \t\r\n]*/y;
const NAME = /[A-Za-z_][A-Za-z0-9_]*/y;
const INTEGER = /\d{1,6}(?![\w.])/y;
/** Longest first. */
const SYMBOLS = ["==", "~=", "..", "(", ")", "[", "]", ".", ",", ":", "-"] as const;

/** The token at the position; undefined at the end of the text. */
export function tokenAt(text: string, position: number): Token | undefined {
  const at = matchEnd(SPACE, text, position) ?? position;
  if (at >= text.length) return undefined;
  const quote = text[at];
  if (quote === '"' || quote === "'") return stringAt(text, at, quote);
  const nameEnd = matchEnd(NAME, text, at);
  if (nameEnd !== undefined) {
    const name = text.slice(at, nameEnd);
    return { kind: KEYWORDS.has(name) ? "keyword" : "name", text: name, end: nameEnd };
  }
  const integerEnd = matchEnd(INTEGER, text, at);
  if (integerEnd !== undefined) return { kind: "integer", text: text.slice(at, integerEnd), end: integerEnd };
  const symbol = SYMBOLS.find((each) => text.startsWith(each, at));
  if (symbol === undefined || text.startsWith("...", at)) {
    throw new UnsupportedExpression(`\`${text.slice(at, at + 1)}\` is not understood`);
  }
  return { kind: "symbol", text: symbol, end: at + symbol.length };
}

function matchEnd(pattern: RegExp, text: string, at: number): number | undefined {
  pattern.lastIndex = at;
  return pattern.test(text) ? pattern.lastIndex : undefined;
}

const ESCAPES: Readonly<Record<string, string>> = { n: "\n", r: "\r", t: "\t", "\\": "\\", '"': '"', "'": "'" };
const DECIMAL = /\d{1,3}/y;

function stringAt(text: string, start: number, quote: string): Token {
  let value = "";
  for (let at = start + 1; at < text.length; at++) {
    const character = text[at] ?? "";
    if (character === quote) return { kind: "string", text: value, end: at + 1 };
    if (character === "\n") break;
    if (character !== "\\") {
      value += character;
      continue;
    }
    at++;
    const escaped = text[at] ?? "";
    const decimalEnd = matchEnd(DECIMAL, text, at);
    if (decimalEnd !== undefined) {
      const code = Number(text.slice(at, decimalEnd));
      if (code > 255) throw new UnsupportedExpression(`the escape \\${code} is above 255`);
      value += String.fromCharCode(code);
      at = decimalEnd - 1;
    } else if (Object.hasOwn(ESCAPES, escaped)) value += ESCAPES[escaped];
    else throw new UnsupportedExpression(`the escape \\${escaped} is not understood`);
  }
  throw new UnsupportedExpression("a string is not closed");
}
