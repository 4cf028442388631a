/**
 * Renders tables as text or data, one slice per turn of the event loop: requests are served between slices, and a slow
 * reader keeps only one slice in memory.
 */
import { setImmediate as nextTurn, setTimeout as sleep } from "node:timers/promises";
import { isDeepStrictEqual } from "node:util";
import { type MetricCell, type MetricDescription, MetricTable } from "./table.ts";
import { TextBuffer } from "./text-buffer.ts";

/** Bytes after which a slice of text ends; rendering them takes about a twentieth of a millisecond. */
const SLICE_BYTES = 16 * 1024;
/**
 * Milliseconds of rendering after which a millisecond passes without any. Without these pauses a scrape of a large node
 * keeps two cores busy, those of the node and of the client, and requests wait for both.
 */
const WORK = 0.12;
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
 * The tables in Prometheus text format. Each slice is valid until the next one is requested, because all are in the same
 * memory. Series that are added to a table while it is rendered are left out, so that the text ends and contains no
 * series twice.
 */
export async function* metricsText(tables: readonly MetricTable[]): AsyncGenerator<Uint8Array> {
  const text = new TextBuffer(2 * SLICE_BYTES);
  let began = performance.now();
  for (const [at, table] of tables.entries()) {
    text.append(`${at === 0 ? "" : "\n"}${table.head}`);
    for (const cell of table.cells()) {
      table.appendLines(cell, text);
      if (text.length < SLICE_BYTES) continue;
      yield text.bytes;
      text.clear();
      if (performance.now() - began < WORK) await nextTurn();
      else {
        await sleep(1);
        began = performance.now();
      }
    }
  }
  yield text.bytes;
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
