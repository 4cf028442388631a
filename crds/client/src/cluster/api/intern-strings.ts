/** Texts that many resources have in common, such as reasons of conditions: one copy of each instead of one a resource. */
import type { Resource } from "../../resource.ts";

const interned = new Map<string, string>();
/** When there are more, they are not in common. */
const MAX_STRINGS = 4096;
/** Characters; longer ones are somebody's own. */
const MAX_LENGTH = 200;

function intern(text: string): string {
  if (text.length > MAX_LENGTH) return text;
  const known = interned.get(text);
  if (known !== undefined) return known;
  if (interned.size >= MAX_STRINGS) interned.clear();
  interned.set(text, text);
  return text;
}

/** Puts shared copies in place of the texts of a status's conditions: in place, so that nothing is made anew. */
export function internConditionStrings(status: Resource["status"]): void {
  if (!Array.isArray(status?.conditions)) return;
  for (const condition of status.conditions as Record<string, unknown>[])
    for (const name in condition) {
      const value = condition[name];
      if (typeof value === "string") condition[name] = intern(value);
    }
}
