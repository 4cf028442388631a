import type { SqlErrorDetails } from "./driver.ts";

const SQLSTATE = /^[0-9A-Z]{5}$/;

/** The details of a database's error; undefined for other errors. Both clients use the same names for them. */
export function sqlErrorDetails(error: unknown): SqlErrorDetails | undefined {
  if (!(error instanceof Error)) return undefined;
  const { code, severity, table, constraint, detail, hint } = error as Error & Record<string, unknown>;
  // Node's errors have codes too, such as ENOENT, but no severity.
  if (typeof code !== "string" || !SQLSTATE.test(code) || typeof severity !== "string") return undefined;
  const told = Object.entries({ table, constraint, detail, hint }).filter(([, value]) => typeof value === "string");
  return { code, ...Object.fromEntries(told) };
}
