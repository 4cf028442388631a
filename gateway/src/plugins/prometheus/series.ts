/** The series of one metric, never more than a limit. */

/** What prom-client's metrics have in common here; labels in the order in which the metric names them. */
interface Labelled<Child> {
  labels(...values: string[]): Child;
  remove(...values: string[]): void;
}

/**
 * Routes and consumers come and go, and a metric would keep a series for each forever. Above the limit the series that
 * was not used for the longest time is dropped; if it comes back it begins at 0, which Prometheus takes for a restart.
 */
export class Series<Child> {
  readonly #metric: Labelled<Child>;
  readonly #limit: number;
  /** In order of use, the latest last. */
  readonly #children = new Map<string, { readonly child: Child; readonly values: readonly string[] }>();

  constructor(metric: Labelled<Child>, limit: number) {
    this.#metric = metric;
    this.#limit = limit;
  }

  of(values: readonly string[]): Child {
    const key = values.join("\0");
    const found = this.#children.get(key);
    if (found !== undefined) {
      this.#children.delete(key);
      this.#children.set(key, found);
      return found.child;
    }
    if (this.#children.size >= this.#limit) this.#dropOldest();
    const child = this.#metric.labels(...values);
    this.#children.set(key, { child, values });
    return child;
  }

  #dropOldest(): void {
    for (const [key, { values }] of this.#children) {
      this.#children.delete(key);
      this.#metric.remove(...values);
      return;
    }
  }
}
