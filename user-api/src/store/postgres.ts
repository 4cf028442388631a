/** A database server, through a pool of connections. */
import { Pool } from "pg";
import type { Database } from "./database.ts";

export interface PostgresOptions {
  /** `postgres://user:password@host:port/database`. */
  readonly url: string;
  /** Told when an idle connection breaks. The pool replaces it; without a listener the process would end. */
  readonly onLost: (error: Error) => void;
}

/** Connects on first use. A statement fails after 10 s, a connection attempt after 5 s. */
export function openPostgres({ url, onLost }: PostgresOptions): Database {
  const pool = new Pool({
    connectionString: url,
    application_name: "sluice-user-api",
    max: 10,
    connectionTimeoutMillis: 5_000,
    statement_timeout: 10_000,
  });
  pool.on("error", onLost);
  return {
    query: async (text, values = []) => (await pool.query(text, [...values])).rows,
    async script(text) {
      // Without parameters pg uses the simple protocol, in which many statements are one implicit transaction.
      await pool.query(text);
    },
    close: () => pool.end(),
  };
}
