/** Texts that many resources have in common, such as reasons of conditions: one copy of each instead of one a resource. */
import type { Resource } from "../resource.ts";

const copies = new Map<string, string>();
/** When there are more, they are not in common. */
const MOST = 4096;
/** Characters; longer ones are somebody's own. */
const LONGEST = 200;

function copyOf(text: string): string {
  if (text.length > LONGEST) return text;
  const known = copies.get(text);
  if (known !== undefined) return known;
  if (copies.size >= MOST) copies.clear();
  copies.set(text, text);
  return text;
}

/** Puts shared copies in place of the texts of a status's conditions: in place, so that nothing is made anew. */
export function shareTexts(status: Resource["status"]): void {
  if (!Array.isArray(status?.conditions)) return;
  for (const condition of status.conditions as Record<string, unknown>[])
    for (const name in condition) {
      const value = condition[name];
      if (typeof value === "string") condition[name] = copyOf(value);
    }
}
