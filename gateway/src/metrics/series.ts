/** The series of one metric, up to a limit. */

/** Subclasses hold the counts of a series; labels are in the order of the metric's label names. */
export class Cell {
  readonly labels: readonly string[];
  /** False once it was dropped: later counts in it are lost. */
  kept = true;
  older: this | null = null;
  newer: this | null = null;

  constructor(labels: readonly string[]) {
    this.labels = labels;
  }
}

/**
 * Routes and consumers come and go, and a metric would otherwise keep a series for each forever. Above the limit, the
 * least recently used series is dropped. If it returns, it begins at 0, which Prometheus treats as a counter reset.
 *
 * The cells form a linked list in order of use, so that using a cell allocates nothing and needs no lookup.
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

  /** The cell of these labels, valid while it is `kept`. Marks it as used. */
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

  /** Must be called with every use of a cell that the caller keeps. */
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
