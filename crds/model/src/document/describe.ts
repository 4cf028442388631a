/** Violations as messages for people, and as Kong's response to an invalid document. */

import type { Violation } from "@sluice/plugin-sdk";
import { schemaViolation, type ViolationFields } from "../check/error.ts";

/**
 * One line such as `kong.yaml:12:5: services[0].routes[1].paths[0]: should start with: /`. Control characters are
 * escaped.
 */
export function describeViolation({ path, message, position }: Violation): string {
  const place = position && [...(position.file === undefined ? [] : [position.file]), position.line, position.column];
  const member = describePath(path);
  const parts = [...(place ? [place.join(":")] : []), ...(member === "" ? [] : [member]), message];
  return escapeControlCharacters(parts.join(": "));
}

/** The maximum number of warnings to describe; a document may have any number of them. */
const MOST_WARNINGS = 20;

/** A message for each of the first 20 warnings, and the number of further warnings. */
export function describeWarnings(warnings: readonly Violation[]): readonly string[] {
  const more = warnings.length - MOST_WARNINGS;
  const first = warnings.slice(0, MOST_WARNINGS).map(describeViolation);
  return more > 0 ? [...first, `further warnings: ${more}`] : first;
}

/** `services[0].routes[1]`; a violation of a record as a whole has the record's own path. */
function describePath(path: Violation["path"]): string {
  return path
    .filter((step) => step !== "@entity")
    .map((step, index) => {
      if (typeof step === "number") return `[${step}]`;
      if (!/^[\w-]+$/.test(step)) return `[${JSON.stringify(step)}]`;
      return index === 0 ? step : `.${step}`;
    })
    .join("");
}

/** Text from outside may contain control characters, which a terminal would execute. */
export const escapeControlCharacters = (text: string): string =>
  text.replace(/\p{Cc}/gu, (character) => `\\x${character.charCodeAt(0).toString(16).padStart(2, "0")}`);

export interface DeclarativeViolation {
  readonly code: 14;
  readonly name: "invalid declarative configuration";
  readonly message: string;
  readonly fields: ViolationFields;
}

/** Kong's body of a 400 for an invalid document. `fields` mirrors the document as written. */
export function declarativeViolation(violations: readonly Violation[]): DeclarativeViolation {
  const { fields } = schemaViolation(violations);
  const message = `declarative config is invalid: ${toLua(fields)}`;
  return { code: 14, name: "invalid declarative configuration", message, fields };
}

/** The fields as a table in Kong's format: no spaces, sorted members, and explicit indexes after the first gap. */
function toLua(fields: ViolationFields): string {
  if (fields === null) return "nil";
  if (typeof fields === "string") return JSON.stringify(fields);
  if (isList(fields)) {
    const gap = fields.indexOf(null);
    const items = fields.map((item, index) =>
      item === null ? [] : [gap === -1 || index < gap ? toLua(item) : `[${index + 1}]=${toLua(item)}`],
    );
    return `{${items.flat().join(",")}}`;
  }
  const members = Object.entries(fields)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, value]) => `${/^[A-Za-z_]\w*$/.test(name) ? name : `[${JSON.stringify(name)}]`}=${toLua(value)}`);
  return `{${members.join(",")}}`;
}

const isList = (fields: ViolationFields): fields is readonly ViolationFields[] => Array.isArray(fields);
