/**
 * Shares strings that many resources have in common, such as condition reasons: one copy instead of one per resource.
 */
import type { Resource } from "../../resource.ts";

const interned = new Map<string, string>();
/** The limit of shared strings; with more of them, they are not common values. */
const MAX_STRINGS = 4096;
/** Characters; longer strings are specific to one resource. */
const MAX_LENGTH = 200;

function intern(text: string): string {
  if (text.length > MAX_LENGTH) return text;
  const known = interned.get(text);
  if (known !== undefined) return known;
  if (interned.size >= MAX_STRINGS) interned.clear();
  interned.set(text, text);
  return text;
}

/** Replaces the strings of a status's conditions by shared copies, in place, to avoid allocating new objects. */
export function internConditionStrings(status: Resource["status"]): void {
  if (!Array.isArray(status?.conditions)) return;
  for (const condition of status.conditions as Record<string, unknown>[])
    for (const name in condition) {
      const value = condition[name];
      if (typeof value === "string") condition[name] = intern(value);
    }
}
