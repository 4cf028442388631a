/**
 * How much a plugin's config may hold. The API server bounds what it has a schema for, and a config has none there: its
 * members are known by the plugin alone.
 */

/** Members and items at all depths. */
export const MAX_VALUES = 1000;
/** Characters (UTF-16) of all names and texts together. */
export const MAX_CHARACTERS = 64 * 1024;

/** What there is more of than may be, in a sentence; undefined: all may be looked at. Looking ends at the bound. */
export function excessOf(value: unknown): string | undefined {
  let values = 0;
  let characters = 0;
  const waiting: unknown[] = [value];
  while (waiting.length > 0) {
    const next = waiting.pop();
    if (typeof next === "string") characters += next.length;
    else if (typeof next === "object" && next !== null) {
      const names = Object.keys(next);
      values += names.length;
      if (values > MAX_VALUES) return `holds more than ${MAX_VALUES} values`;
      if (!Array.isArray(next)) for (const name of names) characters += name.length;
      for (const inner of Object.values(next)) waiting.push(inner);
    }
    if (characters > MAX_CHARACTERS) return `holds more than ${MAX_CHARACTERS} characters`;
  }
  return undefined;
}
