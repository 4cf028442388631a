/** The interface of a database that speaks the SQL of Postgres. */

export type SqlRow = Readonly<Record<string, unknown>>;

export interface Database {
  query(text: string, values?: readonly unknown[]): Promise<readonly SqlRow[]>;
  /** Runs several statements without parameters in one transaction. */
  script(text: string): Promise<void>;
  close(): Promise<void>;
}
