/** `sluice-user-api migrate`: creates the tables or migrates them to the current version. */
import { setTimeout as pause } from "node:timers/promises";
import type { FastifyBaseLogger } from "fastify";
import type { Settings } from "../settings.ts";
import type { Database } from "../store/database.ts";
import { migrateTables, stepsOf } from "../store/migrations.ts";
import { wordsOf } from "./failure.ts";
import { openDatabase, unusable } from "./open-database.ts";

export interface MigrateOptions {
  /** Seconds to wait for the server to become reachable. */
  readonly patience: number;
}

/** Connection refused, name not found, no route, time-outs, and the errors of Postgres while it starts or stops. */
const notYet: ReadonlySet<unknown> = new Set([
  ...["ECONNREFUSED", "ECONNRESET", "ENOTFOUND", "EAI_AGAIN", "EHOSTUNREACH", "ENETUNREACH", "ETIMEDOUT"],
  ...["57P02", "57P03"],
]);
/** pg gives these errors no code: connecting took too long. */
const LATE = /timeout exceeded when trying to connect|Connection terminated due to connection timeout/;

const isNotYet = (error: unknown): boolean =>
  error instanceof Error && (("code" in error && notYet.has(error.code)) || LATE.test(error.message));

export async function migrate(settings: Settings, log: FastifyBaseLogger, { patience }: MigrateOptions): Promise<void> {
  const database = await openDatabase(settings, { log });
  try {
    await reached(database, log, patience);
    const before = await stepsOf(database);
    await migrateTables(database);
    const now = await stepsOf(database);
    log.info(
      before === now ? `the tables are up to date (step ${now})` : `the tables are at step ${now}, from ${before}`,
    );
  } catch (error) {
    throw unusable(settings, error);
  } finally {
    await database.close();
  }
}

/** Retries until the server is reachable. Exiting instead would mean the longer and longer back-off of a supervisor. */
async function reached(database: Database, log: FastifyBaseLogger, patience: number): Promise<void> {
  const end = performance.now() + patience * 1_000;
  // As PID 1 of a container the process has no default handler for SIGTERM and would keep waiting.
  const leave = () => process.exit(143);
  process.once("SIGTERM", leave);
  for (let tries = 1; ; tries++) {
    try {
      await database.query("SELECT 1");
      process.off("SIGTERM", leave);
      return;
    } catch (error) {
      if (!isNotYet(error) || performance.now() >= end) throw error;
      if (tries === 1) log.info(`the database cannot be reached yet: ${wordsOf(error)}`);
      await pause(200);
    }
  }
}
