/** Opens the database that the settings name. */
import { readFile } from "node:fs/promises";
import { SettingsError } from "@sluice/model/serving";
import { type DatabaseSettings, databaseSettings as names } from "../settings/database.ts";
import { NEEDS_BOOTSTRAP } from "./describe-error.ts";
import { type Database, DatabaseUnreachable } from "./driver.ts";
import { openEmbedded } from "./embedded/embedded.ts";
import { dataFolder, FolderInUse, hasDatabase } from "./embedded/folder.ts";
import { readMigrationState } from "./migrate.ts";
import { openPostgres } from "./postgres.ts";

export interface OpenDatabaseOptions {
  /** Called for every broken connection to a server. */
  readonly onLost?: (reason: string) => void;
  /** Whether to throw, instead of creating the folder, if the embedded database does not exist. Default false. */
  readonly made?: boolean;
  /** Milliseconds; overrides the setting. */
  readonly timeout?: number;
}

/**
 * @throws SettingsError for invalid settings, when another process uses the folder of the embedded database, or when
 * that database does not exist although `options.made` requires it.
 */
export async function openDatabase(settings: DatabaseSettings, options: OpenDatabaseOptions = {}): Promise<Database> {
  if (!/^[a-z_][a-z0-9_]{0,62}$/.test(settings.pgSchema))
    throw new SettingsError(
      `${names.pgSchema.variable}: expected lower-case letters, digits and _, not '${settings.pgSchema}'`,
    );
  if (settings.database === "embedded") {
    if (options.made && !hasDatabase(dataFolder(settings.databaseDirectory))) throw new SettingsError(NEEDS_BOOTSTRAP);
    return openEmbedded({ folder: settings.databaseDirectory, schema: settings.pgSchema }).catch((error: unknown) => {
      throw error instanceof FolderInUse ? new SettingsError(error.message) : error;
    });
  }
  const ca = settings.pgSslAuthority === null ? {} : { ca: await readFile(settings.pgSslAuthority, "utf8") };
  return openPostgres({
    host: settings.pgHost,
    port: settings.pgPort,
    user: settings.pgUser,
    ...(settings.pgPassword !== null && { password: settings.pgPassword }),
    database: settings.pgDatabase,
    schema: settings.pgSchema,
    timeout: options.timeout ?? settings.pgTimeout,
    poolSize: settings.pgPoolSize,
    ...(settings.pgSsl && { tls: { verify: settings.pgSslVerify, ...ca } }),
    ...(options.onLost && { onLost: options.onLost }),
  });
}

/** @throws SettingsError when the tables are missing or of an older version, or when the database cannot be reached. */
export async function requireMigrated(database: Database): Promise<void> {
  const state = await readMigrationState(database).catch((error: unknown) => {
    throw error instanceof DatabaseUnreachable ? new SettingsError(error.message) : error;
  });
  if (state.needsBootstrap) throw new SettingsError(NEEDS_BOOTSTRAP);
  if (state.available.length > 0)
    throw new SettingsError("the database is of an older version: run `sluice migrations up`");
}
