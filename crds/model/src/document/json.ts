/**
 * JSON text to plain data, many times faster than as YAML. It tells less: whatever may be a fault is left to the reader of
 * YAML, who finds it again and says where it stands.
 */

/** The data; undefined: it is no JSON object, or one that a document may not be. */
export function readPlainJson(text: string, maxDepth: number): object | undefined {
  if (!/^\s*\{/.test(text)) return undefined;
  let data: object;
  try {
    data = JSON.parse(text);
  } catch {
    return undefined;
  }
  const members = countMembers(data, maxDepth);
  // Of two members with one name JSON.parse keeps the last: then there are more in the text than in the data.
  return members === countColons(text) ? data : undefined;
}

/** Names of members that are faults. */
const strange = ["__proto__", ""];

/** NaN when there is a value that a document may not have. */
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
 * Colons of valid JSON that stand in no string; NaN when a name is written with an escape: once V8 (14.6) has seen a name
 * with a backslash, JSON.parse takes some others for it that are written with one.
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

/** Where the string that begins there ends. */
function endOfString(text: string, start: number): number {
  let end = text.indexOf('"', start + 1);
  for (;;) {
    let backslashes = 0;
    while (text.charCodeAt(end - 1 - backslashes) === BACKSLASH) backslashes++;
    if (backslashes % 2 === 0) return end;
    end = text.indexOf('"', end + 1);
  }
}
