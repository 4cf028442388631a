/**
 * Metrics whose counting costs a request no object: prom-client's `inc` and `observe` make and hash an object of labels
 * each time. What is counted stands in cells of our own, which prom-client gets at a scrape.
 */
import { Counter, type CounterConfiguration, Histogram, type HistogramConfiguration } from "prom-client";
import { Cell, Series } from "./series.ts";

export class CountCell extends Cell {
  value = 0;
}

export class CellCounter extends Counter {
  readonly series: Series<CountCell>;
  readonly #names: readonly string[];

  constructor(configuration: CounterConfiguration<string>, limit: number) {
    super(configuration);
    this.#names = configuration.labelNames ?? [];
    this.series = new Series(limit, (labels) => new CountCell(labels));
  }

  override async get() {
    const values = Array.from(this.series.cells(), ({ labels, value }) => ({
      labels: labelled(this.#names, labels),
      value,
    }));
    return { ...(await super.get()), values };
  }
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

export class CellHistogram extends Histogram {
  readonly series: Series<BucketCell>;
  readonly #name: string;
  readonly #help: string;
  readonly #names: readonly string[];
  readonly #bounds: readonly number[];

  constructor(configuration: HistogramConfiguration<string> & { readonly buckets: number[] }, limit: number) {
    super(configuration);
    const { name, help, labelNames, buckets } = configuration;
    this.#name = name;
    this.#help = help;
    this.#names = labelNames ?? [];
    this.#bounds = buckets;
    this.series = new Series(limit, (labels) => new BucketCell(labels, buckets));
  }

  /** What prom-client itself asks a histogram for, whatever is wanted of it; its types do not know of it. */
  async getForPromString() {
    const values = Array.from(this.series.cells()).flatMap((cell) => this.#valuesOf(cell));
    return { name: this.#name, help: this.#help, type: "histogram", aggregator: "sum", values };
  }

  #valuesOf({ labels, counts, sum }: BucketCell) {
    const sharedLabels = labelled(this.#names, labels);
    let below = 0;
    const buckets = counts.map((count, at) => {
      below += count;
      const le = this.#bounds[at] ?? "+Inf";
      return { labels: { le }, sharedLabels, value: below, metricName: `${this.#name}_bucket` };
    });
    return [
      ...buckets,
      { labels: {}, sharedLabels, value: sum, metricName: `${this.#name}_sum` },
      { labels: {}, sharedLabels, value: below, metricName: `${this.#name}_count` },
    ];
  }
}

const labelled = (names: readonly string[], values: readonly string[]): Record<string, string> =>
  Object.fromEntries(names.map((name, at) => [name, values[at] ?? ""]));
