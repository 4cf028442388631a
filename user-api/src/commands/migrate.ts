/** `sluice-user-api migrate`: makes the tables, or brings them up to date. */
import type { FastifyBaseLogger } from "fastify";
import type { Settings } from "../settings.ts";
import { migrations, stepsOf } from "../store/migrations.ts";
import { openDatabase, unusable } from "./open-database.ts";

export async function migrate(settings: Settings, log: FastifyBaseLogger): Promise<void> {
  const database = await openDatabase(settings, log);
  try {
    const before = await stepsOf(database);
    await database.script(migrations());
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
