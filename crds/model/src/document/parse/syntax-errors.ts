/** Finds where a YAML syntax error has to be fixed, which is not always where the parser reports it. */
import { type CST, Parser } from "yaml";

export interface SyntaxFault {
  readonly message: string;
  readonly offset: number;
}

/** An error as the yaml library reports it. */
interface SyntaxError {
  readonly message: string;
  readonly pos: readonly [number, number];
}

/**
 * The parser reports an unclosed bracket or quote only where it expects another token, often lines below, and misreads
 * all that follows. This function reports the bracket or quote itself, and no errors after it.
 *
 * @param errors The parser's errors for `text`, at least one.
 */
export function syntaxFaults(text: string, errors: readonly SyntaxError[]): readonly SyntaxFault[] {
  const opened = unclosed([...new Parser().parse(text)]);
  const first = opened.reduce((least, { offset }) => Math.min(least, offset), Number.POSITIVE_INFINITY);
  const before = errors.filter(({ pos }) => pos[0] < first).map(({ message, pos }) => ({ message, offset: pos[0] }));
  return [...before, ...opened];
}

const closers: Readonly<Record<string, string>> = { "[": "]", "{": "}" };

export interface VisitedToken {
  readonly token: CST.Token;
  readonly parent: VisitedToken | undefined;
  /** The number of lists and maps around the token. */
  readonly depth: number;
}

/** The tokens with all tokens inside them, parents first. Iterative, because the input controls the depth. */
export function* visitTokens(tokens: readonly CST.Token[]): Generator<VisitedToken> {
  const waiting = tokens.map((token): VisitedToken => ({ token, parent: undefined, depth: 0 }));
  for (let parent = waiting.pop(); parent !== undefined; parent = waiting.pop()) {
    yield parent;
    const { token, depth } = parent;
    if (token.type === "document" && token.value) waiting.push({ token: token.value, parent, depth });
    if (!("items" in token)) continue;
    for (const { key, value } of token.items) {
      if (key) waiting.push({ token: key, parent, depth: depth + 1 });
      if (value) waiting.push({ token: value, parent, depth: depth + 1 });
    }
  }
}

/** Of nested unclosed brackets and quotes only the innermost is reported: it may have consumed an outer one's end. */
function unclosed(tokens: readonly CST.Token[]): readonly SyntaxFault[] {
  const found: { readonly visited: VisitedToken; readonly message: string }[] = [];
  const outside = new Set<VisitedToken>();
  for (const visited of visitTokens(tokens)) {
    const message = openingOf(visited.token);
    if (message === undefined) continue;
    found.push({ visited, message });
    for (let outer = visited.parent; outer !== undefined && !outside.has(outer); outer = outer.parent)
      outside.add(outer);
  }
  return found
    .filter(({ visited }) => !outside.has(visited))
    .map(({ visited, message }) => ({ message, offset: visited.token.offset }))
    .sort((one, other) => one.offset - other.offset);
}

/** The message for a token that opens a bracket or quote without closing it; undefined for other tokens. */
function openingOf(token: CST.Token): string | undefined {
  if (token.type === "flow-collection") {
    const open = token.start.source;
    const close = closers[open];
    if (token.end.some(({ source }) => source === close)) return undefined;
    return `this ${open} is not closed: its ${close} is missing or not indented enough`;
  }
  if (token.type !== "double-quoted-scalar" && token.type !== "single-quoted-scalar") return undefined;
  const { source } = token;
  const [quote = ""] = source;
  return source.length > 1 && source.endsWith(quote) ? undefined : `this ${quote} is not closed`;
}
