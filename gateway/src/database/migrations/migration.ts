/** One schema migration. Never change a released one: nodes of two versions share a database. */
export interface Migration {
  /** Sorts after the previous ones: `001_what_it_does`. */
  readonly name: string;
  /** SQL that is compatible with nodes of the previous version. */
  readonly up: string;
  /**
   * SQL that is not compatible with them, such as dropping a column that they read. Run by `sluice migrations finish`.
   */
  readonly finish?: string;
}
