/** Opens the database that the settings name. */
import type { FastifyBaseLogger } from "fastify";
import type { Settings } from "../settings.ts";
import type { Database } from "../store/database.ts";
import { openPglite } from "../store/pglite.ts";
import { openPostgres } from "../store/postgres.ts";
import { messageOf, StartFailure } from "./start-failure.ts";

type Place = Pick<Settings, "databaseUrl" | "dataFolder">;

interface OpenOptions {
  readonly log: FastifyBaseLogger;
  /** See PgliteOptions. Not used for a server, which can come back without a restart of this process. */
  readonly onDeath?: (error: Error) => void;
}

/** @throws StartFailure when the folder cannot be used. A server is contacted by the first query only. */
export async function openDatabase(
  { databaseUrl, dataFolder }: Place,
  { log, onDeath }: OpenOptions,
): Promise<Database> {
  if (databaseUrl !== undefined) {
    const onLost = (error: Error): void => log.warn({ err: error }, "lost a connection to the database");
    return openPostgres({ url: databaseUrl, onLost });
  }
  if (dataFolder === undefined) log.warn("SLUICE_USER_API_DATA is unset: users are kept in memory only");
  return openPglite({ folder: dataFolder, onDeath }).catch((error: unknown) => {
    throw databaseFailure({ databaseUrl, dataFolder }, error);
  });
}

/** The failure for an unusable database; the message does not contain the password. */
export function databaseFailure({ databaseUrl }: Place, error: unknown): StartFailure {
  if (databaseUrl === undefined) {
    return new StartFailure(`cannot open the folder of SLUICE_USER_API_DATA: ${messageOf(error)}`);
  }
  const { host, pathname } = new URL(databaseUrl);
  return new StartFailure(
    `cannot use the database ${host}${pathname} of SLUICE_USER_API_DATABASE_URL: ${messageOf(error)}`,
  );
}
