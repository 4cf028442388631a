/** A database server, through a pool of connections. */
import { Pool } from "pg";
import type { Database } from "./database.ts";

export interface PostgresOptions {
  /** `postgres://user:password@host:port/database`. */
  readonly url: string;
  /** Told when an idle connection breaks. The pool replaces it; without a listener the process would end. */
  readonly onLost: (error: Error) => void;
  /** What a statement may take. Default 10 s. */
  readonly milliseconds?: number;
}

/** A server that is there ends its statements itself, and says so, before its silence ends a connection. */
const SILENCE = 1_000;

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
  // A server that vanished without a word would keep the connection for as long as TCP tries, a quarter of an hour.
  const query_timeout = milliseconds + SILENCE;
  pool.on("error", onLost);
  return {
    async query(text, values = []) {
      // pg takes a timeout with a statement; its types know one for the connection alone.
      const statement = { text, values: [...values], query_timeout };
      return (await pool.query(statement)).rows;
    },
    async script(text) {
      // Without parameters pg uses the simple protocol, in which many statements are one implicit transaction.
      await pool.query(text);
    },
    close: () => pool.end(),
  };
}
