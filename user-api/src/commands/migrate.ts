/** `sluice-user-api migrate`: creates the tables or migrates them to the current version. */
import { setTimeout as pause } from "node:timers/promises";
import type { FastifyBaseLogger } from "fastify";
import type { Settings } from "../settings.ts";
import type { Database } from "../store/database.ts";
import { appliedSteps, migrateTables } from "../store/migrations.ts";
import { databaseFailure, openDatabase } from "./open-database.ts";
import { messageOf } from "./start-failure.ts";

/** Connection refused or reset, name not found, no route, a time-out, and errors while Postgres starts or crashes. */
const unreachableCodes: ReadonlySet<unknown> = new Set([
  ...["ECONNREFUSED", "ECONNRESET", "ENOTFOUND", "EAI_AGAIN", "EHOSTUNREACH", "ENETUNREACH", "ETIMEDOUT"],
  ...["57P02", "57P03"],
]);
/** The messages of pg when connecting takes too long; these errors have no code. */
const CONNECT_TIMEOUT = /timeout exceeded when trying to connect|Connection terminated due to connection timeout/;

const isUnreachable = (error: unknown): boolean =>
  error instanceof Error &&
  (("code" in error && unreachableCodes.has(error.code)) || CONNECT_TIMEOUT.test(error.message));

/**
 * Creates or migrates the tables, after waiting up to `waitSeconds` for the database server to become reachable.
 *
 * @throws StartFailure
 */
export async function migrate(settings: Settings, log: FastifyBaseLogger, waitSeconds: number): Promise<void> {
  const database = await openDatabase(settings, { log });
  try {
    await reached(database, log, waitSeconds);
    const before = await appliedSteps(database);
    await migrateTables(database);
    const now = await appliedSteps(database);
    log.info(
      before === now
        ? `the tables are up to date (step ${now})`
        : `the tables were migrated from step ${before} to step ${now}`,
    );
  } catch (error) {
    throw databaseFailure(settings, error);
  } finally {
    await database.close();
  }
}

/**
 * Retries until the server is reachable. Throws if it is still unreachable after `waitSeconds`, and at once for any
 * other error. If the process exited at the first failure, a supervisor would restart it with growing delays.
 */
async function reached(database: Database, log: FastifyBaseLogger, waitSeconds: number): Promise<void> {
  const end = performance.now() + waitSeconds * 1_000;
  // As PID 1 of a container the process has no default handler for SIGTERM and would keep waiting.
  const leave = () => process.exit(143);
  process.once("SIGTERM", leave);
  for (let tries = 1; ; tries++) {
    try {
      await database.query("SELECT 1");
      process.off("SIGTERM", leave);
      return;
    } catch (error) {
      if (!isUnreachable(error) || performance.now() >= end) throw error;
      if (tries === 1) log.info(`the database cannot be reached yet: ${messageOf(error)}`);
      await pause(200);
    }
  }
}
