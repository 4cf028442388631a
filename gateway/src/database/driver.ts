/**
 * The interface to a database that speaks Postgres' SQL. Implementations: postgres, embedded; both run one test suite.
 */

/** A row by column names. int8 is returned as a number, json and jsonb parsed, arrays as arrays. */
export type DatabaseRow = Readonly<Record<string, unknown>>;

/**
 * Runs statements.
 *
 * @throws DatabaseFault when the database rejects a statement. @throws DatabaseUnreachable when the outcome is unknown.
 */
export interface DatabaseConnection {
  /** Runs one statement with `$1` parameters; all values are parameters. Prepared once per connection. */
  query(text: string, values?: readonly unknown[]): Promise<readonly DatabaseRow[]>;
  /** Runs several statements without parameters in one call; in a transaction of their own unless one is open. */
  script(text: string): Promise<void>;
}

export type OnNotification = (payload: string | null) => void;

export interface Database extends DatabaseConnection {
  /** The schema of the tables. Statements name no schema. */
  readonly schema: string;
  /**
   * BEGIN, `run`, COMMIT; or ROLLBACK when `run` rejects. Every statement sees what was committed before it began (READ
   * COMMITTED); a caller that needs more must lock. `run` must use the connection that it is given.
   */
  transaction<Result>(run: (connection: DatabaseConnection) => Promise<Result>): Promise<Result>;
  /**
   * Calls `onSignal` with the payload of each NOTIFY on the channel, and with null after a reconnect, because
   * notifications may have been missed. Resolves once it listens, to a function that stops it; rejects when the
   * database cannot be reached.
   */
  listen(channel: string, onSignal: OnNotification): Promise<() => void>;
  /** Why the database does not answer at present; null without a problem. */
  trouble(): string | null;
  close(): Promise<void>;
}

/** What the database reports about a rejected statement (Postgres documentation, appendix A and section 54.8). */
export interface SqlErrorDetails {
  /** The SQLSTATE, for example `23505`. */
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

/** The message is for users; `cause` is the original error. */
export class DatabaseUnreachable extends Error {
  override readonly name = "DatabaseUnreachable";
}

/** The schema of all tables, unless a setting names another. */
export const DEFAULT_SCHEMA = "sluice";
