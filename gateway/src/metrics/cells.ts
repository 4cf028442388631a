/**
 * The counts of one series. Counting allocates no object per request, whereas prom-client creates and hashes an object
 * of labels.
 */
import { Cell } from "./series.ts";

export class CountCell extends Cell {
  value = 0;
}

export class BucketCell extends Cell {
  /** The number of values per bucket, not cumulative; the last element counts values above the last bound. */
  readonly counts: number[];
  sum = 0;
  readonly #bounds: readonly number[];

  constructor(labels: readonly string[], bounds: readonly number[]) {
    super(labels);
    this.#bounds = bounds;
    this.counts = new Array<number>(bounds.length + 1).fill(0);
  }

  observe(value: number): void {
    const bounds = this.#bounds;
    let at = 0;
    while (at < bounds.length && value > (bounds[at] ?? 0)) at++;
    this.counts[at] = (this.counts[at] ?? 0) + 1;
    this.sum += value;
  }
}
