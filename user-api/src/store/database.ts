/** What the store needs of a database that speaks Postgres' SQL. */

export type Row = Readonly<Record<string, unknown>>;

export interface Database {
  /** One statement with `$1` parameters. */
  query(text: string, values?: readonly unknown[]): Promise<readonly Row[]>;
  /** Many statements without parameters, all or none of them. */
  script(text: string): Promise<void>;
  close(): Promise<void>;
}
