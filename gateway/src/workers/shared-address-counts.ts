/**
 * How many connections each address has over all workers of a node. Every worker has a table of its own, into which
 * nobody else writes: open addressing of fixed size, a row of which is a count and the 128 bits of the address' hash.
 * A row whose count is nothing may become another address'. Of a worker that died the counts are wiped out.
 */
import { keyedHash } from "../plugins/rate-limiting/keyed-hash.ts";

export interface SharedAddressCountsOptions {
  /** See `addressBytes`. */
  readonly buffer: SharedArrayBuffer;
  /** Of the hash. */
  readonly key: Uint32Array;
  /** Workers that share the buffer. */
  readonly workers: number;
  /** Which of them this is: 1 to `workers`. */
  readonly owner: number;
  /** Connections of one address. */
  readonly limit: number;
}

const ROW = 5;
/** How many rows an address may lie in. At most a fourth of a table is used: that none of them is free does not happen. */
const PROBES = 64;
const SPARE = 4;

/** Bytes for so many workers, each of which has so many connections at the most. */
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

  /** False: the address has as many as it may have. Of several at once for the last place it may be that none gets it. */
  enter(address: string): boolean {
    const hash = keyedHash(address, this.#key);
    const row = this.#row(hash);
    if (row < 0) return false;
    // First in, then counted: of two who do so at once at least one sees the other.
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

  /** The address' own row, or one that becomes it; -1: none is free. */
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

/** The worker of this number is no more, and its connections with it. */
export function releaseWorkerAddresses(buffer: SharedArrayBuffer, workers: number, owner: number): void {
  const table = tablesOf(buffer, workers)[owner - 1] ?? new Int32Array(0);
  // What was never written the system has not even given.
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
    // Else the row became another's before its count was read.
    if (isOf(table, row, hash)) return count;
  }
  return 0;
}
