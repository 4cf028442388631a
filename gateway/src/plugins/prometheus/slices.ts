/**
 * Tables as text or as data, a slice in every turn of the event loop: whoever takes requests beside it goes on between
 * two slices, and whoever reads slowly keeps nothing of it in memory but one.
 */
import { setImmediate as nextTurn } from "node:timers/promises";
import type { Cell } from "./series.ts";
import { createTable, type Shape, type Table } from "./table.ts";

/** About a fifth of a millisecond. What is longer than 128 kB V8 does not keep among what is young. */
const SLICE_CHARACTERS = 112 * 1024;
/** The same of plain data. */
const SLICE_SERIES = 500;

/** What some series of one metric have counted; plain data. */
export interface Part {
  readonly shape: Shape;
  /** Of each series. */
  readonly labels: readonly (readonly string[])[];
  /** Those of one series after those of the other: a counter's value; how many each bucket has, and the sum. */
  readonly numbers: ArrayLike<number>;
}

/** In Prometheus' text format. Series that come meanwhile are not in it, so that it ends, and none is in it twice. */
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

/** Also of a metric without series, so that it is known. */
export async function* partsOf(tables: readonly Table[]): AsyncGenerator<Part> {
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

function partOf(table: Table, cells: readonly Cell[]): Part {
  const numbers = new Float64Array(cells.length * table.width);
  for (const [at, cell] of cells.entries()) table.read(cell, numbers, at * table.width);
  return { shape: table.shape, labels: cells.map(({ labels }) => labels), numbers };
}

/** Adds up what several have counted. */
export class Sum {
  readonly #tables = new Map<string, Table>();

  /** In the order in which they came. */
  get tables(): readonly Table[] {
    return [...this.#tables.values()];
  }

  add({ shape, labels, numbers }: Part): void {
    let table = this.#tables.get(shape.name);
    if (table === undefined) {
      table = createTable(shape, Number.POSITIVE_INFINITY);
      this.#tables.set(shape.name, table);
    }
    for (const [at, each] of labels.entries()) table.add(table.series.of(each), numbers, at * table.width);
  }

  /** One part in every turn. */
  async addAll(parts: Iterable<Part> | AsyncIterable<Part>): Promise<void> {
    for await (const part of parts) {
      this.add(part);
      await nextTurn();
    }
  }
}
