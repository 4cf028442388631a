/** Lists of entries in the config of request-transformer and response-transformer, as in Kong. */
import { isRecord } from "../schema/node.ts";
import type { RecordMembers } from "../schema/rules.ts";
import type { Violation } from "../violation.ts";

/** An entry: a name, or a name and a value, separated by a colon. */
export interface NamedValue {
  readonly name: string;
  /** "" if the entry has no value. */
  readonly value: string;
}

/** The parts around the first run of colons; the name is empty if the entry starts with a colon. */
export function namedValueOf(entry: string): NamedValue {
  const colon = entry.indexOf(":");
  if (colon < 0) return { name: entry, value: "" };
  return { name: entry.slice(0, colon), value: entry.slice(colon).replace(/^:+/, "") };
}

/** Whether Kong accepts the name of a header in an entry. */
export const isEntryHeaderName = (name: string): boolean => /^[A-Za-z0-9\-_]+$/.test(name) && name !== "__proto__";

/**
 * Checks the entries of one list, such as `add.headers`; empty entries are left out.
 *
 * @param faultOf Returns the message about an invalid entry; undefined: the entry is valid
 */
export function checkEntries(
  config: RecordMembers,
  [action, list]: readonly [action: string, list: string],
  faultOf: (entry: string) => string | undefined,
): readonly Violation[] {
  const lists = config[action];
  const entries = isRecord(lists) ? lists[list] : null;
  return (Array.isArray(entries) ? entries : []).flatMap((entry, index) => {
    const message = typeof entry === "string" && entry !== "" ? faultOf(entry) : undefined;
    return message === undefined ? [] : [{ path: [action, list, index], message }];
  });
}
