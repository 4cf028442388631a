/**
 * Counts by name over all workers of a node, such as the connections of each client address. Every worker has its own
 * table and writes to no other table. The table uses open addressing with a fixed size; a row holds a count and the
 * 128-bit hash of the name. A row whose count is zero may be reused for another name. When a worker dies, its counts
 * are cleared.
 */
import { StringCache } from "@sluice/plugin-sdk";
import { keyedHash } from "./keyed-hash.ts";

export interface WorkerCountsOptions {
  /** Its length is the result of `workerCountsBytes`. */
  readonly buffer: SharedArrayBuffer;
  readonly key: Uint32Array;
  readonly workers: number;
  /** The number of this worker: 1 to `workers`. */
  readonly owner: number;
}

const ROW = 5;
/**
 * Number of rows that are probed for a name. At most a quarter of a table is in use, so a name practically always finds
 * a row.
 */
const PROBES = 64;
const SPARE = 4;

/** Bytes of the tables of this number of workers, each with at most this number of names with a count above zero. */
export function workerCountsBytes(workers: number, names: number): number {
  const rows = 2 ** Math.ceil(Math.log2(Math.max(names * SPARE, PROBES)));
  return workers * rows * ROW * Int32Array.BYTES_PER_ELEMENT;
}

export class WorkerCounts {
  readonly #tables: readonly Int32Array[];
  readonly #own: Int32Array;
  readonly #hashes: StringCache<Int32Array>;

  constructor({ buffer, key, workers, owner }: WorkerCountsOptions) {
    this.#tables = tablesOf(buffer, workers);
    this.#own = this.#tables[owner - 1] ?? new Int32Array(0);
    this.#hashes = new StringCache((name) => keyedHash(name, key));
  }

  /**
   * Increments the count of the name. Returns false, and changes nothing, when the sum over all workers has reached the
   * limit, or no row is free. Of workers that compete for the last counts below the limit, exactly as many succeed as
   * the limit allows.
   */
  incrementBelow(name: string, limit: number): boolean {
    const hash = this.#hashes.of(name);
    const row = this.#row(hash);
    if (row < 0) return false;
    for (;;) {
      // Add first, then sum: of two workers that do so concurrently, at least one sees the other's count.
      Atomics.add(this.#own, row, 1);
      if (this.#sum(hash) <= limit) return true;
      // The sum may include counts of other workers that are about to be undone. The last of the competing workers sees
      // only counts that stay, and succeeds if there are fewer than the limit.
      Atomics.sub(this.#own, row, 1);
      if (this.#sum(hash) >= limit) return false;
    }
  }

  decrement(name: string): void {
    const row = this.#row(this.#hashes.of(name));
    if (row >= 0) Atomics.sub(this.#own, row, 1);
  }

  /** The sum over all workers. */
  count(name: string): number {
    return this.#sum(this.#hashes.of(name));
  }

  #sum(hash: Int32Array): number {
    let sum = 0;
    for (const table of this.#tables) sum += countIn(table, hash);
    return sum;
  }

  /** The row of the name, or a free row claimed for it; -1: none is free. */
  #row(hash: Int32Array): number {
    const table = this.#own;
    let free = -1;
    for (let probe = 0; probe < PROBES; probe++) {
      const row = rowAt(table, hash, probe);
      if (isOf(table, row, hash)) return row;
      if (free < 0 && Atomics.load(table, row) === 0) free = row;
      if (isUnused(table, row)) break;
    }
    if (free >= 0) for (let word = 0; word < 4; word++) Atomics.store(table, free + 1 + word, hash[word] ?? 0);
    return free;
  }
}

/** Clears the counts of a worker that has ended, because what it counted ended with it. */
export function releaseWorkerCounts(buffer: SharedArrayBuffer, workers: number, owner: number): void {
  const table = tablesOf(buffer, workers)[owner - 1] ?? new Int32Array(0);
  // Rows that were never written are skipped: a write would make the system allocate their pages.
  for (let row = 0; row < table.length; row += ROW) if (table[row] !== 0) Atomics.store(table, row, 0);
}

function tablesOf(buffer: SharedArrayBuffer, workers: number): readonly Int32Array[] {
  const size = buffer.byteLength / workers;
  const words = size / Int32Array.BYTES_PER_ELEMENT;
  return Array.from({ length: workers }, (_, at) => new Int32Array(buffer, at * size, words));
}

function rowAt(table: Int32Array, hash: Int32Array, probe: number): number {
  const rows = table.length / ROW;
  return ((((hash[0] ?? 0) >>> 0) + probe) % rows) * ROW;
}

function isOf(table: Int32Array, row: number, hash: Int32Array): boolean {
  for (let word = 0; word < 4; word++) if (Atomics.load(table, row + 1 + word) !== hash[word]) return false;
  return true;
}

/** Whether no name has ever had the row. A name takes the first free row, so it is in no row after this one. */
function isUnused(table: Int32Array, row: number): boolean {
  for (let word = 0; word < ROW; word++) if (Atomics.load(table, row + word) !== 0) return false;
  return true;
}

function countIn(table: Int32Array, hash: Int32Array): number {
  for (let probe = 0; probe < PROBES; probe++) {
    const row = rowAt(table, hash, probe);
    if (!isOf(table, row, hash)) {
      if (isUnused(table, row)) return 0;
      continue;
    }
    const count = Atomics.load(table, row);
    // Otherwise the row was reused for another name before its count was read.
    if (isOf(table, row, hash)) return count;
  }
  return 0;
}
