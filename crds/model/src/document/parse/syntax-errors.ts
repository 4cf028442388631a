/** Finds where a YAML syntax error has to be fixed, which is not always where the parser reports it. */
import { type CST, Parser } from "yaml";

export interface SyntaxFault {
  readonly message: string;
  readonly offset: number;
}

/** As the yaml library reports it. */
interface SyntaxError {
  readonly message: string;
  readonly pos: readonly [number, number];
}

/**
 * The parser reports an unclosed bracket or quote only lines below, where it expects another token, and misreads all
 * that follows. This reports the bracket or quote itself, and no errors after it.
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

interface Visited {
  readonly token: CST.Token;
  readonly parent: Visited | undefined;
  /** Whether a nested bracket is not closed. */
  holdsOpen: boolean;
}

/**
 * Of nested brackets only the innermost unclosed one is reported: it may have consumed the other's end. Iterative,
 * because the input controls the depth.
 */
function unclosed(tokens: readonly CST.Token[]): readonly SyntaxFault[] {
  const found: { readonly visited: Visited; readonly message: string }[] = [];
  const waiting = tokens.map((token): Visited => ({ token, parent: undefined, holdsOpen: false }));
  for (let visited = waiting.pop(); visited !== undefined; visited = waiting.pop()) {
    for (const token of childrenOf(visited.token)) waiting.push({ token, parent: visited, holdsOpen: false });
    const message = openingOf(visited.token);
    if (message === undefined) continue;
    found.push({ visited, message });
    for (let outer = visited.parent; outer !== undefined && !outer.holdsOpen; outer = outer.parent)
      outer.holdsOpen = true;
  }
  return found
    .filter(({ visited }) => !visited.holdsOpen)
    .map(({ visited, message }) => ({ message, offset: visited.token.offset }))
    .sort((one, other) => one.offset - other.offset);
}

function childrenOf(token: CST.Token): readonly CST.Token[] {
  if (token.type === "document") return token.value ? [token.value] : [];
  if (!("items" in token)) return [];
  return token.items.flatMap(({ key, value }) => [key, value].filter((child) => child !== undefined && child !== null));
}

/** The error of a token that opens a bracket or quote without closing it. */
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
