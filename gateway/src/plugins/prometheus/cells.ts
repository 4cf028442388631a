/** What one series has counted. To count costs a request no object: prom-client makes and hashes one of labels. */
import { Cell } from "./series.ts";

export class CountCell extends Cell {
  value = 0;
}

export class BucketCell extends Cell {
  /** How many fell in each bucket, those beyond the last bound at the end; not added up. */
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
