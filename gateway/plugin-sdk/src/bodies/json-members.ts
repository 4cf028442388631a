/**
 * Finds the members of a JSON object with their positions (RFC 8259), so that one can be removed without rewriting the
 * others. Text is Latin-1: one character per byte, whatever the encoding.
 */

export interface JsonMember {
  /** The unescaped name. */
  readonly name: string;
  readonly value: unknown;
  readonly valueStart: number;
  /** Position of the opening quote of the name. */
  readonly start: number;
  /** Position after the end of the value. */
  readonly end: number;
}

/** Members of the outermost object, in order and including repeated names; null when the text is not a JSON object. */
export function jsonMembers(text: string): readonly JsonMember[] | null {
  if (!isJson(text)) return null;
  const opening = skip(text, 0);
  if (text[opening] !== "{") return null;
  const members: JsonMember[] = [];
  let at = skip(text, opening + 1);
  while (text[at] === '"') {
    const start = at;
    const nameEnd = endOfString(text, start);
    const valueStart = skip(text, skip(text, nameEnd) + 1);
    const end = endOfValue(text, valueStart);
    members.push({
      name: parsed(text.slice(start, nameEnd)) as string,
      value: memberValue(text, valueStart, end),
      valueStart,
      start,
      end,
    });
    at = skip(text, end);
    if (text[at] === ",") at = skip(text, at + 1);
  }
  return members;
}

/** The text without the members of these names, each removed with one adjoining comma; all other bytes stay. */
export function withoutMembers(text: string, members: readonly JsonMember[], names: readonly string[]): string {
  const [first] = members;
  if (first === undefined) return text;
  let rest = text.slice(0, first.start);
  let isFirst = true;
  let previousEnd = first.start;
  for (const { name, start, end } of members) {
    if (!names.includes(name)) {
      rest += isFirst ? text.slice(start, end) : text.slice(previousEnd, end);
      isFirst = false;
    }
    previousEnd = end;
  }
  return rest + text.slice(previousEnd);
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

// The functions below require valid JSON.

function skip(text: string, from: number): number {
  let at = from;
  while (text[at] === " " || text[at] === "\t" || text[at] === "\n" || text[at] === "\r") at++;
  return at;
}

function endOfString(text: string, start: number): number {
  let at = start + 1;
  while (text[at] !== '"') at += text[at] === "\\" ? 2 : 1;
  return at + 1;
}

/** The position after a value. An object or list ends where the brackets outside of strings are balanced. */
function endOfValue(text: string, start: number): number {
  if (text[start] === '"') return endOfString(text, start);
  let at = start;
  let depth = 0;
  do {
    const character = text[at];
    if (character === '"') {
      at = endOfString(text, at);
      continue;
    }
    if (character === "{" || character === "[") depth++;
    else if (character === "}" || character === "]") depth--;
    at++;
  } while (depth > 0);
  if (text[start] === "{" || text[start] === "[") return at;
  while (at < text.length && !/[\s,}]/.test(text[at] ?? "")) at++;
  return at;
}

/** Returns objects and lists as empty ones: the caller only needs to know that they are not strings. */
function memberValue(text: string, start: number, end: number): unknown {
  if (text[start] === "{") return {};
  if (text[start] === "[") return [];
  return parsed(text.slice(start, end));
}

const parsed = (latin1: string): unknown => JSON.parse(Buffer.from(latin1, "latin1").toString("utf8"));
