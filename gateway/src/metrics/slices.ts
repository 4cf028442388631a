/**
 * Renders tables as text or data, one slice per turn of the event loop: requests are served between slices, and a slow
 * reader keeps only one slice in memory.
 */
import { setImmediate as nextTurn } from "node:timers/promises";
import type { Cell } from "./series.ts";
import { createTable, type Shape, type Table } from "./table.ts";

/** Takes about a fifth of a millisecond. V8 does not put strings above 128 kB in the young generation. */
const SLICE_CHARACTERS = 112 * 1024;
/** The same limit for plain data. */
const SLICE_SERIES = 500;

/** The counts of some series of one metric, as plain data. */
export interface MetricsPart {
  readonly shape: Shape;
  /** One list per series. */
  readonly labels: readonly (readonly string[])[];
  /** The numbers of all series, one after the other: a counter's value; or the count of each bucket, and the sum. */
  readonly numbers: ArrayLike<number>;
}

/**
 * In Prometheus text format. Series that are added in the meantime are left out, so that it ends and contains none
 * twice.
 */
export async function* textOf(tables: readonly Table[]): AsyncGenerator<string> {
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

/** Includes a metric without series, so that it is known. */
export async function* partsOf(tables: readonly Table[]): AsyncGenerator<MetricsPart> {
  for (const table of tables) {
    let some: Cell[] = [];
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

function partOf(table: Table, cells: readonly Cell[]): MetricsPart {
  const numbers = new Float64Array(cells.length * table.width);
  for (const [at, cell] of cells.entries()) table.read(cell, numbers, at * table.width);
  return { shape: table.shape, labels: cells.map(({ labels }) => labels), numbers };
}

/** Sums the counts of several threads or nodes. */
export class Sum {
  readonly #tables = new Map<string, Table>();

  /** In order of arrival. */
  get tables(): readonly Table[] {
    return [...this.#tables.values()];
  }

  add({ shape, labels, numbers }: MetricsPart): void {
    let table = this.#tables.get(shape.name);
    if (table === undefined) {
      table = createTable(shape, Number.POSITIVE_INFINITY);
      this.#tables.set(shape.name, table);
    }
    for (const [at, each] of labels.entries()) table.add(table.series.of(each), numbers, at * table.width);
  }

  /** One part per turn of the event loop. */
  async addAll(parts: Iterable<MetricsPart> | AsyncIterable<MetricsPart>): Promise<void> {
    for await (const part of parts) {
      this.add(part);
      await nextTurn();
    }
  }
}
