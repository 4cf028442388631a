/** The series of one metric, never more than a limit. */

/** What one series has counted is in its subclasses; labels are in the order in which the metric names them. */
export class Cell {
  readonly labels: readonly string[];
  /** False once it was dropped: what is counted in it from then on is lost. */
  kept = true;
  older: this | null = null;
  newer: this | null = null;

  constructor(labels: readonly string[]) {
    this.labels = labels;
  }
}

/**
 * Routes and consumers come and go, and a metric would keep a series for each forever. Above the limit the series that
 * was not used for the longest time is dropped; if it comes back it begins at 0, which Prometheus takes for a restart.
 *
 * The cells hang together in the order of their use, so that to use one that is at hand makes no object and looks up
 * nothing.
 */
export class Series<Kind extends Cell> {
  readonly #limit: number;
  readonly #make: (labels: readonly string[]) => Kind;
  readonly #cells = new Map<string, Kind>();
  #oldest: Kind | null = null;
  #newest: Kind | null = null;

  constructor(limit: number, make: (labels: readonly string[]) => Kind) {
    this.#limit = limit;
    this.#make = make;
  }

  /** The cell of these labels, for as long as it is `kept`. It counts as used. */
  of(labels: readonly string[]): Kind {
    const key = labels.join("\0");
    const found = this.#cells.get(key);
    if (found !== undefined) {
      this.use(found);
      return found;
    }
    if (this.#cells.size >= this.#limit) this.#dropOldest();
    const cell = this.#make(labels);
    this.#cells.set(key, cell);
    this.#append(cell);
    return cell;
  }

  /** To be called with every use of a cell that is kept. */
  use(cell: Kind): void {
    if (cell === this.#newest) return;
    this.#detach(cell);
    this.#append(cell);
  }

  cells(): Iterable<Kind> {
    return this.#cells.values();
  }

  #append(cell: Kind): void {
    cell.older = this.#newest;
    if (this.#newest === null) this.#oldest = cell;
    else this.#newest.newer = cell;
    this.#newest = cell;
  }

  #detach(cell: Kind): void {
    const { older, newer } = cell;
    if (older === null) this.#oldest = newer;
    else older.newer = newer;
    if (newer === null) this.#newest = older;
    else newer.older = older;
    cell.older = null;
    cell.newer = null;
  }

  #dropOldest(): void {
    const oldest = this.#oldest;
    if (oldest === null) return;
    this.#detach(oldest);
    oldest.kept = false;
    this.#cells.delete(oldest.labels.join("\0"));
  }
}
