#!/usr/bin/env node
/** The command `sluice-user-api`: settings, store, application, signals. */
import { buildApp } from "./app.ts";
import { makeLog } from "./operations/log.ts";
import { readSettings, type Settings } from "./settings.ts";
import { openPglite } from "./store/pglite.ts";
import { openPostgres } from "./store/postgres.ts";
import { openUserStore } from "./store/sql-store.ts";
import type { UserStore } from "./store/store.ts";

/** A reason to end that an operator can mend; its message says how. */
class StartFailure extends Error {}

const wordsOf = (error: unknown): string => {
  // A refused connection to a name with several addresses has its reasons inside and no message of its own.
  if (error instanceof AggregateError && error.message === "") return error.errors.map(wordsOf).join("; ");
  return error instanceof Error ? error.message : String(error);
};

async function openStore({ databaseUrl, dataFolder }: Settings, log: ReturnType<typeof makeLog>): Promise<UserStore> {
  if (databaseUrl !== undefined) {
    const { host, pathname } = new URL(databaseUrl);
    const onLost = (error: Error): void => log.warn({ err: error }, "lost a connection to the database");
    return openUserStore(openPostgres({ url: databaseUrl, onLost })).catch((error: unknown) => {
      throw new StartFailure(
        `cannot use the database ${host}${pathname} of SLUICE_USER_API_DATABASE_URL: ${wordsOf(error)}`,
      );
    });
  }
  if (dataFolder === undefined) log.warn("SLUICE_USER_API_DATA is unset: users are kept in memory only");
  return openPglite({ folder: dataFolder })
    .then(openUserStore)
    .catch((error: unknown) => {
      throw new StartFailure(`cannot open the folder of SLUICE_USER_API_DATA: ${wordsOf(error)}`);
    });
}

function startFailureOf(error: unknown, { host, port }: Settings): Error {
  const code = error instanceof Error && "code" in error ? error.code : undefined;
  if (code === "EADDRINUSE") {
    return new StartFailure(`port ${port} of ${host} is in use; SLUICE_USER_API_LISTEN sets another one`);
  }
  return new StartFailure(`cannot listen on ${host}:${port} (SLUICE_USER_API_LISTEN): ${wordsOf(error)}`);
}

async function start(settings: Settings, log: ReturnType<typeof makeLog>): Promise<void> {
  const store = await openStore(settings, log);
  const app = await buildApp({ ...settings, store, log, drainMilliseconds: settings.drainSeconds * 1_000 });
  const { host, port } = settings;
  try {
    await app.listen({ host, port, listenTextResolver: (address) => `GraphQL at ${address}/graphql` });
  } catch (error) {
    await app.close();
    throw startFailureOf(error, settings);
  }

  let draining = false;
  for (const signal of ["SIGTERM", "SIGINT"] as const) {
    process.on(signal, () => {
      if (draining) return;
      draining = true;
      log.info(`${signal}: finishing what is under way`);
      app.close().then(
        () => log.info("stopped"),
        (error: unknown) => {
          log.error({ err: error }, "could not stop in order");
          process.exitCode = 1;
        },
      );
    });
  }
}

const read = readSettings(process.env);
if ("violations" in read) {
  const log = makeLog("info");
  for (const violation of read.violations) log.fatal(violation);
  process.exitCode = 1;
} else {
  const log = makeLog(read.settings.logLevel);
  start(read.settings, log).catch((error: unknown) => {
    if (error instanceof StartFailure) log.fatal(error.message);
    else log.fatal({ err: error }, "could not start");
    process.exitCode = 1;
  });
}
