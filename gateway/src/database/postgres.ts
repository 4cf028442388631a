/** A Postgres server, through a pool of connections and one connection for LISTEN. */
import { hash } from "node:crypto";
import pg from "pg";
import { isServerState, withAdvice } from "./describe-error.ts";
import {
  type Database,
  type DatabaseConnection,
  DatabaseFault,
  type DatabaseRow,
  DatabaseUnreachable,
  DEFAULT_SCHEMA,
  inTransaction,
  sqlErrorDetails,
} from "./driver.ts";
import { createPostgresListener } from "./postgres-listener.ts";

export interface PostgresOptions {
  readonly host: string;
  readonly port: number;
  readonly user: string;
  readonly password?: string;
  readonly database: string;
  readonly schema?: string;
  /** Milliseconds for a connection attempt, and for a statement. Default 5000. */
  readonly timeout?: number;
  /** Maximum connections, in addition to the one for LISTEN. Default 10. */
  readonly poolSize?: number;
  /** `ca` is PEM text; absent: Node's own authorities. */
  readonly tls?: { readonly verify: boolean; readonly ca?: string };
  readonly onLost?: (reason: string) => void;
}

export function openPostgres(options: PostgresOptions): Database {
  const { schema = DEFAULT_SCHEMA, onLost = () => undefined } = options;
  const config = clientConfig(options);
  const pool = new pg.Pool({ ...config, max: options.poolSize ?? 10, min: 0 });
  const listener = createPostgresListener(
    () => new pg.Client({ ...config, query_timeout: 0, statement_timeout: 0 }),
    onLost,
  );
  let failure: string | null = null;
  // The pool replaces a broken idle connection; if no function handled this event, the error would end the process.
  pool.on("error", (error) => onLost(error.message));

  function refusal(error: unknown): Error {
    const facts = sqlErrorDetails(error);
    const message = messageOf(error);
    if (facts && !isServerState(facts.code)) return new DatabaseFault(message, facts);
    const state = facts && !/^(08|57)/.test(facts.code) ? "cannot be used at the moment" : "does not answer";
    failure = `the database at ${options.host}:${options.port} ${state}: ${facts ? withAdvice(message, facts.code) : message}`;
    return new DatabaseUnreachable(failure, { cause: error });
  }

  /** Runs a function with a connection of the pool. After DatabaseUnreachable, the connection is not reused. */
  async function using<Result>(run: (client: pg.PoolClient) => Promise<Result>): Promise<Result> {
    const client = await pool.connect().catch((error: unknown) => {
      throw refusal(error);
    });
    const broken = (error: Error) => onLost(error.message);
    client.on("error", broken);
    let spoilt = false;
    try {
      const result = await run(client);
      failure = null;
      return result;
    } catch (error) {
      spoilt = error instanceof DatabaseUnreachable;
      throw error;
    } finally {
      client.off("error", broken);
      client.release(spoilt);
    }
  }

  const connectionOf = (client: pg.PoolClient): DatabaseConnection => ({
    async query(text, values = []) {
      try {
        return (await client.query<DatabaseRow>({ name: nameOf(text), text, values: [...values] })).rows;
      } catch (error) {
        throw refusal(error);
      }
    },
    async script(text) {
      // Without parameters pg uses the simple query protocol, in which several statements form one implicit
      // transaction.
      await client.query(text).catch((error: unknown) => {
        throw refusal(error);
      });
    },
  });

  return {
    schema,
    query: (text, values) => using((client) => connectionOf(client).query(text, values)),
    script: (text) => using((client) => connectionOf(client).script(text)),
    transaction: (run) =>
      using((client) => inTransaction(connectionOf(client), run, (error) => error instanceof DatabaseUnreachable)),
    listen: (channel, onSignal) =>
      listener.listen(channel, onSignal).catch((error: unknown) => {
        throw refusal(error);
      }),
    failure: () => failure ?? listener.failure(),
    async close() {
      await Promise.all([listener.close(), pool.end()]);
    },
  };
}

/** The name of a prepared statement in its connection: equal texts share one statement. */
const nameOf = (text: string): string => hash("sha1", text);

/**
 * The message of an error. If connection attempts at several addresses fail, Node throws an AggregateError without a
 * message of its own; the errors that it contains have the messages.
 */
function messageOf(error: unknown): string {
  if (error instanceof AggregateError && error.message === "") return error.errors.map(messageOf).join("; ");
  return error instanceof Error ? error.message : String(error);
}

function clientConfig(options: PostgresOptions): pg.ClientConfig {
  const { host, port, user, password, database, schema = DEFAULT_SCHEMA, timeout = 5000, tls } = options;
  return {
    host,
    port,
    user,
    // If absent, pg would look for a password in the environment and in a file.
    password: password ?? "",
    database,
    application_name: "sluice",
    options: `-c search_path=${schema}`,
    ssl: tls ? { rejectUnauthorized: tls.verify, ...(tls.ca !== undefined && { ca: tls.ca }) } : false,
    connectionTimeoutMillis: timeout,
    statement_timeout: timeout,
    // Longer than the statement timeout, which the server enforces itself: this is for a server that is gone.
    query_timeout: timeout + 500,
    keepAlive: true,
    types: { getTypeParser },
  };
}

/** Reads int8 as a number: revisions are int8 and far below 2^53. */
const getTypeParser: pg.CustomTypesConfig["getTypeParser"] = (id, format) =>
  id === pg.types.builtins.INT8 ? Number : pg.types.getTypeParser(id, format);
