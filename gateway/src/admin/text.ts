/** Texts that no store can keep, whatever member they are of. */
import type { Violation } from "@sluice/model";

/** What is wrong with a text; undefined when nothing is. */
export function textFault(text: string): string | undefined {
  if (text.includes("\0")) return "must not hold the character U+0000";
  return text.isWellFormed() ? undefined : "invalid utf-8 character sequence";
}

/** All such texts in a value that is not nested deeply, names included. */
export function unkeepable(value: unknown, path: Violation["path"] = []): readonly Violation[] {
  if (typeof value === "string") {
    const message = textFault(value);
    return message === undefined ? [] : [{ path, message }];
  }
  if (Array.isArray(value)) return value.flatMap((item, index) => unkeepable(item, [...path, index]));
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([name, member]) => {
    const message = textFault(name);
    return message === undefined
      ? unkeepable(member, [...path, name])
      : [{ path: [...path, "@entity"], message: `a name ${message}` }];
  });
}
