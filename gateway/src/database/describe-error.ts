/** Explains database errors to users: the reason, and a remedy. */
import { databaseSettings as names } from "../settings/database.ts";
import { DatabaseFault, DatabaseUnreachable } from "./driver.ts";

export const NEEDS_BOOTSTRAP = "the database needs bootstrapping: run `sluice migrations bootstrap`";

/** SQLSTATEs of a missing table, function or schema. */
const MISSING = new Set(["42P01", "42883", "3F000"]);

/** SQLSTATE classes and codes that concern the state of the server instead of the statement. */
const SERVER_STATE = /^(08|28|3D|53|57P|58|XX00[12])|^(25006|42501|55P03|57014)$/;

export const isServerState = (code: string): boolean => SERVER_STATE.test(code);

/** True when the database cannot be used at present, for any statement: unreachable, full, or without its tables. */
export const isUnavailable = (error: unknown): boolean =>
  error instanceof DatabaseUnreachable ||
  (error instanceof DatabaseFault && (MISSING.has(error.facts.code) || isServerState(error.facts.code)));

/** Remedies by the prefix of a SQLSTATE (Postgres documentation, appendix A). */
const advices: readonly (readonly [code: string, advice: string])[] = [
  ["53100", "free space on the disk of the database"],
  ["53300", `raise max_connections of the server, or lower ${names.pgPoolSize.variable}`],
  ["25006", `name the primary server in ${names.pgHost.variable}`],
  ["28", `check ${names.pgUser.variable} and ${names.pgPassword.variable}`],
  ["3D", `check ${names.pgDatabase.variable}`],
  ["42501", `grant the user of ${names.pgUser.variable} the required privileges`],
  ["57014", `see ${names.pgTimeout.variable}`],
  ["58", "check the disk and the log of the database"],
  ["XX", "restore the database from a backup"],
];

export function withAdvice(message: string, code: string): string {
  const advice = advices.find(([start]) => code.startsWith(start))?.[1];
  return advice === undefined ? message : `${message}: ${advice}`;
}

export function describeDatabaseError(error: unknown): string {
  if (error instanceof DatabaseFault) {
    const { code } = error.facts;
    if (MISSING.has(code)) return NEEDS_BOOTSTRAP;
    if (isServerState(code)) return withAdvice(`the database cannot be used at the moment: ${error.message}`, code);
  }
  return error instanceof Error ? error.message : String(error);
}
