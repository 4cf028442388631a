/** The interface of a database that speaks the SQL of Postgres. */

export type Row = Readonly<Record<string, unknown>>;

export interface Database {
  query(text: string, values?: readonly unknown[]): Promise<readonly Row[]>;
  /** Runs several statements without parameters in one transaction. */
  script(text: string): Promise<void>;
  close(): Promise<void>;
}
