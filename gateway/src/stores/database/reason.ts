import { DatabaseFault, DatabaseUnreachable } from "./driver.ts";

export const NEEDS_BOOTSTRAP = "the database needs bootstrapping: run `sluice migrations bootstrap`";

/** SQLSTATEs of what is not there: table, function, schema. */
const MISSING = new Set(["42P01", "42883", "3F000"]);

/** True when the database cannot be used for now, whatever the statement: away, or without its tables. */
export const isUnavailable = (error: unknown): boolean =>
  error instanceof DatabaseUnreachable || (error instanceof DatabaseFault && MISSING.has(error.facts.code));

/** What a person reads of it. */
export function reasonOf(error: unknown): string {
  if (error instanceof DatabaseFault && MISSING.has(error.facts.code)) return NEEDS_BOOTSTRAP;
  return error instanceof Error ? error.message : String(error);
}
