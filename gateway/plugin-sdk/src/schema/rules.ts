/** Helpers for checks of members against each other, with Kong's messages. */
import type { Violation } from "../violation.ts";

/** The members of a record, each of which may be invalid: a rule must check the type of a member before using it. */
export type RecordMembers = Readonly<Record<string, unknown>>;

/** Checks members against each other. Paths start at the record. */
export type RecordRule = (members: RecordMembers) => readonly Violation[];

/** A violation of the record as a whole. */
export const recordViolation = (message: string): Violation => ({ path: ["@entity"], message });

/** Kong's definition: unset, "", [] and {} are empty. */
export const isEmptyValue = (value: unknown): boolean =>
  value === undefined ||
  value === null ||
  value === "" ||
  (typeof value === "object" && Object.keys(value).length === 0);

/** `'a', 'b'` as in Kong's messages. */
export const quotedList = (words: readonly string[]): string => words.map((word) => `'${word}'`).join(", ");

/** A violation unless at least one of the members is non-empty. Its message has `prefix` before each name. */
export function atLeastOneOf(members: RecordMembers, names: readonly string[], prefix = ""): readonly Violation[] {
  if (names.some((name) => !isEmptyValue(members[name]))) return [];
  const list = quotedList(names.map((name) => prefix + name));
  return [recordViolation(`at least one of these fields must be non-empty: ${list}`)];
}

/** Kong's two violations for the member at `path`, which the value of the member `given` forbids or requires. */
export const conditionalViolations = (
  given: string,
  path: Violation["path"],
  message: string,
): readonly Violation[] => [
  { path, message },
  recordViolation(`failed conditional validation given value of field '${given}'`),
];
