/** `sluice-user-api`: serves until SIGTERM, SIGINT or the end of the embedded database. */
import { readFile } from "node:fs/promises";
import type { FastifyBaseLogger } from "fastify";
import { buildSchema, type GraphQLSchema, parse, validate } from "graphql";
import { collectDefaultMetrics, Registry } from "prom-client";
import { buildApp } from "../app.ts";
import { schema } from "../directory/schema.ts";
import { openEvents, openProcessEvents } from "../events/events.ts";
import { openNotify } from "../events/notify.ts";
import { openRedis } from "../events/redis.ts";
import { readTrustedDocuments, type TrustedDocuments } from "../limits/trusted.ts";
import { unknownFields } from "../policy/policy.ts";
import type { Settings } from "../settings.ts";
import { openUserStore } from "../store/sql-store.ts";
import type { UserStore } from "../store/store.ts";
import { databaseFailure, openDatabase } from "./open-database.ts";
import { messageOf, StartFailure } from "./start-failure.ts";

async function trustedDocuments(file: string): Promise<TrustedDocuments> {
  const text = await readFile(file, "utf8").catch((error: unknown) => {
    throw new StartFailure(`cannot read the file of SLUICE_USER_API_TRUSTED_DOCUMENTS: ${messageOf(error)}`);
  });
  const read = readTrustedDocuments(text);
  if (typeof read === "string") throw new StartFailure(`the file of SLUICE_USER_API_TRUSTED_DOCUMENTS: ${read}`);
  const faults = faultsOf(read, buildSchema(schema));
  if (faults.length > 0) throw new StartFailure(faults.join("; "));
  return read;
}

/** Messages for trusted documents that are not valid against the schema: these could never be executed. */
function faultsOf({ byId }: TrustedDocuments, known: GraphQLSchema): readonly string[] {
  return [...byId].flatMap(([id, text]) => {
    try {
      return validate(known, parse(text)).map(({ message }) => `the trusted document ${id}: ${message}`);
    } catch (error) {
      return [`the trusted document ${id}: ${messageOf(error)}`];
    }
  });
}

function openEventsOf({ redisUrl, redisPrefix, databaseUrl: url }: Settings, store: UserStore, log: FastifyBaseLogger) {
  if (redisUrl !== undefined) {
    const open = openRedis({ url: redisUrl, channel: `${redisPrefix}:events` });
    return openEvents({ through: "redis", open, store, log });
  }
  return url === undefined
    ? openProcessEvents()
    : openEvents({ through: "database", open: openNotify({ url }), store, log });
}

function listenFailure(error: unknown, { host, port }: Settings): Error {
  const code = error instanceof Error && "code" in error ? error.code : undefined;
  if (code === "EADDRINUSE") {
    return new StartFailure(`port ${port} of ${host} is in use; SLUICE_USER_API_LISTEN sets another one`);
  }
  return new StartFailure(`cannot listen on ${host}:${port} (SLUICE_USER_API_LISTEN): ${messageOf(error)}`);
}

/** Milliseconds after the drain for notifying other replicas of the last created users, and for closing connections. */
const CLOSE_TIMEOUT = 5_000;

export async function serve(settings: Settings, log: FastifyBaseLogger): Promise<void> {
  const { trustedDocuments: file, drainMilliseconds, mode, migrate } = settings;
  const unknown = unknownFields(settings.policy, buildSchema(schema));
  if (unknown.length > 0) {
    throw new StartFailure(`SLUICE_USER_API_POLICY names ${unknown.join(", ")}, but the schema has no such field`);
  }
  const trusted = file === undefined ? undefined : await trustedDocuments(file);
  const death = Promise.withResolvers<Error>();
  const database = await openDatabase(settings, { log, onDeath: death.resolve });
  const failed = (error: unknown): never => {
    throw databaseFailure(settings, error);
  };
  await using opened = new AsyncDisposableStack();
  const store = await openUserStore(database, { migrate }).catch(failed);
  opened.defer(() => store.close());
  const events = await Promise.resolve(openEventsOf(settings, store, log)).catch(failed);
  opened.defer(() => events.close());
  const directCalls = mode === "development";
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  const app = await buildApp({ ...settings, trusted, store, events, registry, log, directCalls });
  // From now on the application closes the opened resources.
  opened.move();
  if (directCalls) log.info("development mode: requests from this machine are accepted without the gateway's secret");
  const { host, port } = settings;
  try {
    await app.listen({ host, port, listenTextResolver: (address) => `GraphQL at ${address}/graphql` });
    if (settings.graphiql) log.info("GraphiQL at /graphiql, to try queries in a browser");
  } catch (error) {
    await app.close();
    throw listenFailure(error, settings);
  }

  let ending = false;
  function end(why: () => void): void {
    if (ending) return;
    ending = true;
    why();
    // A database or Redis server that does not respond can block the closing of the connections to it.
    const late = setTimeout(() => {
      log.fatal("shutdown did not finish in time; exiting");
      process.exit(1);
    }, drainMilliseconds + CLOSE_TIMEOUT);
    late.unref();
    app.close().then(
      () => log.info("stopped"),
      (error: unknown) => {
        log.error({ err: error }, "graceful shutdown failed");
        process.exitCode = 1;
      },
    );
  }
  for (const signal of ["SIGTERM", "SIGINT"] as const) {
    process.on(signal, () => end(() => log.info(`${signal}: shutting down after the requests in flight`)));
  }
  // Without the database no request can be answered, and only a restart of the process brings PGlite back.
  void death.promise.then((error) =>
    end(() => {
      log.fatal({ err: error }, "the embedded database stopped; exiting, so that a supervisor can restart the process");
      process.exitCode = 1;
    }),
  );
}
