/**
 * Renders tables as text or data, one slice per turn of the event loop: requests are served between slices, and a slow
 * reader keeps only one slice in memory.
 */
import { setImmediate as nextTurn } from "node:timers/promises";
import { isDeepStrictEqual } from "node:util";
import { type MetricCell, type MetricDescription, MetricTable } from "./table.ts";

/**
 * Characters after which a slice of text ends; rendering them takes about a fifth of a millisecond. Strings above 128
 * kB do not fit into V8's young generation.
 */
const SLICE_CHARACTERS = 112 * 1024;
/** Series per slice of plain data. */
const SLICE_SERIES = 500;

export const TEXT_FORMAT = "text/plain; version=0.0.4; charset=utf-8";

/** The counts of some series of one metric, as plain data. */
export interface MetricsPart {
  readonly shape: MetricDescription;
  /** The values of the labels, as one list per series. */
  readonly labels: readonly (readonly string[])[];
  /** The numbers of all series, one after the other. */
  readonly numbers: ArrayLike<number>;
}

export type MetricsParts = Iterable<MetricsPart> | AsyncIterable<MetricsPart>;

/**
 * The tables in Prometheus text format. Series that are added to a table while it is rendered are left out, so that the
 * text ends and contains no series twice.
 */
export async function* metricsText(tables: readonly MetricTable[]): AsyncGenerator<string> {
  for (const [at, table] of tables.entries()) {
    let text = `${at === 0 ? "" : "\n"}${table.head}`;
    for (const cell of table.cells()) {
      text += table.lines(cell);
      if (text.length < SLICE_CHARACTERS) continue;
      yield text;
      text = "";
      await nextTurn();
    }
    yield text;
  }
}

/** The tables in parts, including tables without series, so that the text of the sum names them. */
export async function* metricsPartsOf(tables: readonly MetricTable[]): AsyncGenerator<MetricsPart> {
  for (const table of tables) {
    let some: MetricCell[] = [];
    for (const cell of table.cells()) {
      some.push(cell);
      if (some.length < SLICE_SERIES) continue;
      yield partOf(table, some);
      some = [];
      await nextTurn();
    }
    yield partOf(table, some);
  }
}

function partOf({ shape, width }: MetricTable, cells: readonly MetricCell[]): MetricsPart {
  const all = new Float64Array(cells.length * width);
  for (const [at, { numbers }] of cells.entries()) all.set(numbers, at * width);
  return { shape, labels: cells.map(({ labels }) => labels), numbers: all };
}

/** Sums the counts of several threads or nodes. */
export class MetricSum {
  readonly #tables = new Map<string, MetricTable>();

  /** The sums by metric, in the order in which metrics arrived. */
  get tables(): readonly MetricTable[] {
    return [...this.#tables.values()];
  }

  add({ shape, labels, numbers }: MetricsPart): void {
    const known = this.#tables.get(shape.name);
    // A plugin that was loaded again may give its metric other labels: earlier counts cannot be added to its counts.
    const isSame = known !== undefined && isDeepStrictEqual(known.shape.labelNames, shape.labelNames);
    const table = isSame ? known : new MetricTable(shape, Number.POSITIVE_INFINITY);
    this.#tables.set(shape.name, table);
    for (const [at, each] of labels.entries()) {
      const sums = table.of(each).numbers;
      for (const [index, sum] of sums.entries()) sums[index] = sum + (numbers[at * table.width + index] ?? 0);
    }
  }

  /** Adds one part per turn of the event loop. */
  async addAll(parts: MetricsParts): Promise<void> {
    for await (const part of parts) {
      this.add(part);
      await nextTurn();
    }
  }
}
