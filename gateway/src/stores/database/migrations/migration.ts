/** One step of the tables' history. Never change one that was released: nodes of two versions share a database. */
export interface Migration {
  /** Sorts after those before it: `001_what_it_does`. */
  readonly name: string;
  /** SQL that nodes of the version before can live with. */
  readonly up: string;
  /** SQL that they cannot live with, such as dropping what they still read. Run by `sluice migrations finish`. */
  readonly finish?: string;
}
