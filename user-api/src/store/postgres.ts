/** A Postgres server, through a connection pool. */
import { Pool } from "pg";
import type { Database } from "./database.ts";

interface PostgresOptions {
  /** `postgres://user:password@host:port/database`. */
  readonly url: string;
  /** Called when an idle connection breaks. The pool replaces it; without a listener the process would end. */
  readonly onLost: (error: Error) => void;
  /** The time limit of a statement. Default 10 s. */
  readonly milliseconds?: number;
}

/**
 * Milliseconds by which the client's time limit for a statement exceeds the server's: a live server cancels the
 * statement first, with a proper error.
 */
const CLIENT_GRACE = 1_000;

/** Connects on first use. A connection attempt fails after 5 s. */
export function openPostgres({ url, onLost, milliseconds = 10_000 }: PostgresOptions): Database {
  const pool = new Pool({
    connectionString: url,
    application_name: "sluice-user-api",
    max: 10,
    connectionTimeoutMillis: 5_000,
    statement_timeout: milliseconds,
    keepAlive: true,
  });
  // If a server vanishes, TCP retries for about a quarter of an hour; this limit fails the query earlier.
  const query_timeout = milliseconds + CLIENT_GRACE;
  pool.on("error", onLost);
  return {
    async query(text, values = []) {
      // pg accepts a timeout per statement, but its types allow it only for the connection.
      const statement = { text, values: [...values], query_timeout };
      return (await pool.query(statement)).rows;
    },
    async script(text) {
      // Without parameters pg uses the simple protocol, where several statements form one implicit transaction.
      await pool.query(text);
    },
    close: () => pool.end(),
  };
}
