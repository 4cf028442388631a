/**
 * Detects names that a JSON object repeats. Parsers differ in which of the members with the same name they use (RFC
 * 8259 section 4), so the upstream could use a value that was not validated.
 */
const QUOTE = 0x22;
const COLON = 0x3a;
const BACKSLASH = 0x5c;

/** The number of colons outside of strings: each member has one. */
function colonsIn(json: Buffer): number {
  let count = 0;
  let isText = false;
  for (let at = 0; at < json.length; at++) {
    const byte = json[at];
    if (byte === QUOTE) isText = !isText;
    else if (isText && byte === BACKSLASH) at++;
    else if (!isText && byte === COLON) count++;
  }
  return count;
}

/** The number of members of all objects in a value. */
function membersIn(value: unknown): number {
  let count = 0;
  const waiting = [value];
  while (waiting.length > 0) {
    const next = waiting.pop();
    if (typeof next !== "object" || next === null) continue;
    const parts: readonly unknown[] = Array.isArray(next) ? next : Object.values(next);
    if (parts !== next) count += parts.length;
    for (const part of parts) waiting.push(part);
  }
  return count;
}

/**
 * Whether an object in the text repeats a name.
 *
 * @param json Valid JSON
 * @param value The parsed text
 */
export const repeatsName = (json: Buffer, value: unknown): boolean => colonsIn(json) !== membersIn(value);
