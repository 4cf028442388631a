/**
 * Counts the connections of each client address over all workers of a node. Every worker has its own table and writes
 * to no other table. The table uses open addressing with a fixed size; a row holds a count and the 128-bit hash of the
 * address. A row whose count is zero may be reused for another address. When a worker dies, its counts are cleared.
 */
import { keyedHash } from "./keyed-hash.ts";

export interface SharedAddressCountsOptions {
  /** Its length is the result of `addressBytes`. */
  readonly buffer: SharedArrayBuffer;
  readonly key: Uint32Array;
  readonly workers: number;
  /** The number of this worker: 1 to `workers`. */
  readonly owner: number;
  readonly limit: number;
}

const ROW = 5;
/**
 * Number of rows that are probed for an address. At most a quarter of a table is in use, so an address
 * practically always finds a row.
 */
const PROBES = 64;
const SPARE = 4;

/** Bytes of the tables of this number of workers, each with at most this number of connections. */
export function addressBytes(workers: number, connections: number): number {
  const rows = 2 ** Math.ceil(Math.log2(Math.max(connections * SPARE, PROBES)));
  return workers * rows * ROW * Int32Array.BYTES_PER_ELEMENT;
}

export class SharedAddressCounts {
  readonly #tables: readonly Int32Array[];
  readonly #own: Int32Array;
  readonly #key: Uint32Array;
  readonly #limit: number;

  constructor({ buffer, key, workers, owner, limit }: SharedAddressCountsOptions) {
    this.#tables = tablesOf(buffer, workers);
    this.#own = this.#tables[owner - 1] ?? new Int32Array(0);
    this.#key = key;
    this.#limit = limit;
  }

  /**
   * Counts a connection of the address. Returns false, and counts nothing, when the address has reached its limit or no
   * row is free. When several connections race for the last slot, all of them may be refused.
   */
  enter(address: string): boolean {
    const hash = keyedHash(address, this.#key);
    const row = this.#row(hash);
    if (row < 0) return false;
    // Add first, then sum: of two workers that do so concurrently, at least one sees the other's count.
    Atomics.add(this.#own, row, 1);
    let sum = 0;
    for (const table of this.#tables) sum += countIn(table, hash);
    if (sum <= this.#limit) return true;
    Atomics.sub(this.#own, row, 1);
    return false;
  }

  leave(address: string): void {
    Atomics.sub(this.#own, this.#row(keyedHash(address, this.#key)), 1);
  }

  /** The row of the address, or a free row claimed for it; -1: none is free. */
  #row(hash: Int32Array): number {
    const table = this.#own;
    let free = -1;
    for (let probe = 0; probe < PROBES; probe++) {
      const row = rowAt(table, hash, probe);
      if (isOf(table, row, hash)) return row;
      if (free < 0 && Atomics.load(table, row) === 0) free = row;
    }
    if (free >= 0) for (let word = 0; word < 4; word++) Atomics.store(table, free + 1 + word, hash[word] ?? 0);
    return free;
  }
}

/** Clears the counts of a worker that has ended, because its connections ended with it. */
export function releaseWorkerAddresses(buffer: SharedArrayBuffer, workers: number, owner: number): void {
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

function countIn(table: Int32Array, hash: Int32Array): number {
  for (let probe = 0; probe < PROBES; probe++) {
    const row = rowAt(table, hash, probe);
    if (!isOf(table, row, hash)) continue;
    const count = Atomics.load(table, row);
    // Otherwise the row was reused for another address before its count was read.
    if (isOf(table, row, hash)) return count;
  }
  return 0;
}
