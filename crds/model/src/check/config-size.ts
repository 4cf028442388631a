/**
 * The size limit of a plugin's config. The API server has no schema for a config (only the plugin knows its members),
 * so it cannot limit the size itself.
 */

/** Maximum number of members and items, at all depths. */
export const MAX_VALUES = 1000;
/** Maximum number of characters (UTF-16) of all names and strings together. */
export const MAX_CHARACTERS = 64 * 1024;

/**
 * The message for a config that is too large; undefined when it is within the limits. Counting stops once a limit is
 * exceeded.
 */
export function configSizeMessage(value: unknown): string | undefined {
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
