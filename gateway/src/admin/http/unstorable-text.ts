/** Texts that no store can keep, whatever member they are of. */
import type { Violation } from "@sluice/model";

/** What is wrong with a text; undefined when nothing is. */
export function unstorableReason(text: string): string | undefined {
  if (text.includes("\0")) return "must not hold the character U+0000";
  return text.isWellFormed() ? undefined : "invalid utf-8 character sequence";
}

/** All such texts in a value that is not nested deeply, names included. */
export function unstorableTexts(value: unknown, path: Violation["path"] = []): readonly Violation[] {
  if (typeof value === "string") {
    const message = unstorableReason(value);
    return message === undefined ? [] : [{ path, message }];
  }
  if (Array.isArray(value)) return value.flatMap((item, index) => unstorableTexts(item, [...path, index]));
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([name, member]) => {
    const message = unstorableReason(name);
    return message === undefined
      ? unstorableTexts(member, [...path, name])
      : [{ path: [...path, "@entity"], message: `a name ${message}` }];
  });
}
