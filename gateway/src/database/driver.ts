/**
 * The interface to a database that speaks Postgres' SQL. Implementations: postgres, embedded; both pass the same test
 * suite.
 */

/** A row by column names. int8 is returned as a number, json and jsonb parsed, arrays as arrays. */
export type DatabaseRow = Readonly<Record<string, unknown>>;

/**
 * Runs statements.
 *
 * @throws DatabaseFault when the database rejects a statement.
 * @throws DatabaseUnreachable when the database does not answer: whether it ran the statement may be unknown.
 */
export interface DatabaseConnection {
  /** Runs one statement, in which every value is a parameter (`$1`). Each text is prepared once per connection. */
  query(text: string, values?: readonly unknown[]): Promise<readonly DatabaseRow[]>;
  /** Runs several statements without parameters in one call. They form one transaction, or are part of an open one. */
  script(text: string): Promise<void>;
}

export type OnNotification = (payload: string | null) => void;

export interface Database extends DatabaseConnection {
  /** The schema of the tables. Statements name no schema. */
  readonly schema: string;
  /**
   * BEGIN, `run`, COMMIT; or ROLLBACK when `run` rejects. Every statement sees the data that was committed before it
   * began (READ COMMITTED); a caller that needs stronger isolation must lock rows. `run` must use the connection that
   * it receives.
   */
  transaction<Result>(run: (connection: DatabaseConnection) => Promise<Result>): Promise<Result>;
  /**
   * Calls `onSignal` with the payload of each NOTIFY on the channel, and with null after a reconnect, because
   * notifications may have been missed. Resolves, once the subscription is active, to a function that removes
   * `onSignal`; rejects when the database cannot be reached.
   */
  listen(channel: string, onSignal: OnNotification): Promise<() => void>;
  /** Why the database does not answer at present; null without a problem. */
  failure(): string | null;
  close(): Promise<void>;
}

/**
 * The details that the database reports about a rejected statement (Postgres documentation, appendix A and section
 * 54.8).
 */
export interface SqlErrorDetails {
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

/** SQLSTATEs of transactions that can be retried: serialization failure, deadlock. */
const RETRYABLE = new Set(["40001", "40P01"]);

export const isRetryable = (error: unknown): boolean =>
  error instanceof DatabaseFault && RETRYABLE.has(error.facts.code);

/** The message is for users; `cause` is the original error. */
export class DatabaseUnreachable extends Error {
  override readonly name = "DatabaseUnreachable";
}

export const DEFAULT_SCHEMA = "sluice";

const SQLSTATE = /^[0-9A-Z]{5}$/;

/**
 * The details of a database's error; undefined for other errors. The clients of both implementations (pg, PGlite) use
 * the same names for these details.
 */
export function sqlErrorDetails(error: unknown): SqlErrorDetails | undefined {
  if (!(error instanceof Error)) return undefined;
  const { code, severity, table, constraint, detail, hint } = error as Error & Record<string, unknown>;
  // Node's errors have codes too, such as ENOENT, but no severity.
  if (typeof code !== "string" || !SQLSTATE.test(code) || typeof severity !== "string") return undefined;
  const given = Object.entries({ table, constraint, detail, hint }).filter(([, value]) => typeof value === "string");
  return { code, ...Object.fromEntries(given) };
}

/**
 * BEGIN, `run`, COMMIT; or ROLLBACK when `run` rejects.
 *
 * @param isLost Whether the error means that the connection is lost. If so, no ROLLBACK is sent, because the database
 * rolls back by itself.
 */
export async function inTransaction<Result>(
  connection: DatabaseConnection,
  run: (connection: DatabaseConnection) => Promise<Result>,
  isLost: (error: unknown) => boolean,
): Promise<Result> {
  await connection.script("BEGIN");
  try {
    const result = await run(connection);
    await connection.script("COMMIT");
    return result;
  } catch (error) {
    if (!isLost(error)) await connection.script("ROLLBACK");
    throw error;
  }
}
