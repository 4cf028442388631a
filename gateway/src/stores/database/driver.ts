/** What the database mode needs of a database that speaks Postgres' SQL. Implementations: postgres, embedded; one suite. */

/** A row by its columns. int8 comes as a number, json and jsonb as what they say, arrays as arrays. */
export type Row = Readonly<Record<string, unknown>>;

/**
 * Runs statements.
 *
 * @throws DatabaseFault when the database refuses a statement.
 * @throws DatabaseUnreachable when nobody knows what became of it.
 */
export interface Connection {
  /** One statement with `$1` parameters: every value goes through them. Prepared once a connection. */
  query(text: string, values?: readonly unknown[]): Promise<readonly Row[]>;
  /** Many statements without parameters, in one go; in one transaction of their own when none is open. */
  script(text: string): Promise<void>;
}

export type OnNotification = (payload: string | null) => void;

export interface Database extends Connection {
  /** Where the tables are. Statements name no schema. */
  readonly schema: string;
  /**
   * BEGIN, what `run` does, COMMIT; or ROLLBACK when `run` rejects. Every statement sees what is committed when it
   * begins (READ COMMITTED): who needs more takes a lock. `run` must use the connection that it is given.
   */
  transaction<Result>(run: (connection: Connection) => Promise<Result>): Promise<Result>;
  /**
   * Calls `onSignal` with what each NOTIFY on the channel says, and with null after a lost connection has been found
   * again: something may have been missed then. Resolves once it listens, to what ends it; rejects when the database
   * cannot be reached.
   */
  listen(channel: string, onSignal: OnNotification): Promise<() => void>;
  /** Why the database gives no answers for now; null when all is well. */
  trouble(): string | null;
  close(): Promise<void>;
}

/** What the database says of a statement that it refuses (Postgres documentation, appendix A and section 54.8). */
export interface SqlErrorDetails {
  /** SQLSTATE: `23505`. */
  readonly code: string;
  readonly table?: string;
  readonly constraint?: string;
  readonly detail?: string;
  readonly hint?: string;
}

export class DatabaseFault extends Error {
  override readonly name = "DatabaseFault";
  readonly facts: SqlErrorDetails;

  constructor(message: string, facts: SqlErrorDetails) {
    super(message);
    this.facts = facts;
  }
}

/** The message is for people; what lies behind it is the cause. */
export class DatabaseUnreachable extends Error {
  override readonly name = "DatabaseUnreachable";
}

/** The schema in which all tables live, unless a setting names another. */
export const DEFAULT_SCHEMA = "sluice";
