/** `sluice-user-api migrate`: creates the tables or migrates them to the current version. */
import { setTimeout as pause } from "node:timers/promises";
import type { FastifyBaseLogger } from "fastify";
import type { Settings } from "../settings.ts";
import type { Database } from "../store/database.ts";
import { migrateTables, stepsOf } from "../store/migrations.ts";
import { databaseFailure, messageOf, openDatabase } from "./open-database.ts";

/** Connection refused, name not found, no route, time-outs, and the errors of Postgres while it starts or stops. */
const unreachableCodes: ReadonlySet<unknown> = new Set([
  ...["ECONNREFUSED", "ECONNRESET", "ENOTFOUND", "EAI_AGAIN", "EHOSTUNREACH", "ENETUNREACH", "ETIMEDOUT"],
  ...["57P02", "57P03"],
]);
/** pg gives these errors no code: connecting took too long. */
const CONNECT_TIMEOUT = /timeout exceeded when trying to connect|Connection terminated due to connection timeout/;

const isUnreachable = (error: unknown): boolean =>
  error instanceof Error &&
  (("code" in error && unreachableCodes.has(error.code)) || CONNECT_TIMEOUT.test(error.message));

/** Waits up to `waitSeconds` for the server to become reachable. */
export async function migrate(settings: Settings, log: FastifyBaseLogger, waitSeconds: number): Promise<void> {
  const database = await openDatabase(settings, { log });
  try {
    await reached(database, log, waitSeconds);
    const before = await stepsOf(database);
    await migrateTables(database);
    const now = await stepsOf(database);
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
 * Retries until the server is reachable, and throws if it is still unreachable after `waitSeconds`. Exiting at the
 * first failure would instead cause the growing restart delays of a supervisor.
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
