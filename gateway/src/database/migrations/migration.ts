/** One schema migration. Never change a merged one: databases that ran it keep its result, and its name marks it as run. */
export interface Migration {
  /** Sorts after the previous ones: `001_what_it_does`. */
  readonly name: string;
  /**
   * SQL that is compatible with nodes of the previous version, which share the database during an upgrade. They write
   * null to columns that they do not know, whatever the column's default: a new column must be nullable.
   */
  readonly up: string;
  /**
   * SQL that is not compatible with them, such as dropping a column that they read. Run by `sluice migrations finish`.
   */
  readonly finish?: string;
}
