/**
 * Parses JSON many times faster than the YAML parser, but without positions. Any text that may have an error, or
 * that `JSON.parse` may misread, is left to the YAML parser, which reports errors with their positions.
 */

/** The data; undefined if the YAML parser must read the text. */
export function readPlainJson(text: string, maxDepth: number): object | undefined {
  if (!/^\s*\{/.test(text)) return undefined;
  let data: object;
  try {
    data = JSON.parse(text);
  } catch {
    return undefined;
  }
  const members = countMembers(data, maxDepth);
  // JSON.parse keeps only the last of duplicate members, so the text then has more members than the data.
  return members === countColons(text) ? data : undefined;
}

/** Member names that are violations. */
const strange = ["__proto__", ""];

/** The number of members at all depths; NaN if a name, a value or the depth is not allowed in a document. */
function countMembers(root: object, maxDepth: number): number {
  let members = 0;
  const visit = (value: unknown, depth: number): void => {
    if (depth > maxDepth) members = Number.NaN;
    else if (Array.isArray(value)) for (const item of value) visit(item, depth + 1);
    else if (typeof value === "object" && value !== null) {
      if (strange.some((name) => Object.hasOwn(value, name))) members = Number.NaN;
      for (const member of Object.values(value)) {
        members++;
        visit(member, depth + 1);
      }
    } else if (typeof value === "number" && !Number.isFinite(value)) members = Number.NaN;
  };
  visit(root, 0);
  return members;
}

const QUOTE = 34;
const COLON = 58;
const BACKSLASH = 92;

/**
 * Counts the colons outside of strings in valid JSON; NaN when a name contains an escape. After V8 (14.6) has seen a
 * name with a backslash, JSON.parse confuses some other escaped names with that name.
 */
function countColons(text: string): number {
  let colons = 0;
  let start = 0;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === COLON) {
      colons++;
      if (text.slice(start, at).includes("\\")) return Number.NaN;
    } else if (code === QUOTE) {
      start = at;
      at = endOfString(text, at);
    }
  }
  return colons;
}

/** The index of the closing quote of the string whose opening quote is at `start`. */
function endOfString(text: string, start: number): number {
  let end = text.indexOf('"', start + 1);
  for (;;) {
    let backslashes = 0;
    while (text.charCodeAt(end - 1 - backslashes) === BACKSLASH) backslashes++;
    if (backslashes % 2 === 0) return end;
    end = text.indexOf('"', end + 1);
  }
}
