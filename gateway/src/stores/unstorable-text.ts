/** Strings that no store can hold, in any member. */
import type { Violation } from "@sluice/model";

/** The reason why a string cannot be stored; undefined when it can. */
export function unstorableReason(text: string): string | undefined {
  if (text.includes("\0")) return "must not hold the character U+0000";
  return text.isWellFormed() ? undefined : "invalid utf-8 character sequence";
}

/** A violation for each string in the value that cannot be stored, including names of members, at any depth. */
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
