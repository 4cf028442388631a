/**
 * A dynamic table of HPACK (RFC 7541 sections 2.3.2 and 4). Its entries are `name: value` lines in one buffer, without
 * an object for each entry. The buffer grows up to the limit of the table.
 */

/** Overhead of an entry (section 4.1). */
export const ENTRY_COST = 32;
/** Size of a table without other settings (RFC 9113 section 6.5.2). */
export const DEFAULT_TABLE_SIZE = 4096;
/** Bytes of a line besides name and value: a colon, a space and a line end. */
export const LINE_COST = 4;

/** Numbers that are kept for an entry: start, lengths of name and value, kind. */
const STRIDE = 4;
/** A power of two, like the number of entries that fit into a table of the default size. V8 keeps their numbers inline. */
const FIRST_ENTRIES = 8;
const FIRST_MEMORY = 256;

/** The entry of a range of bytes that is inserted. */
export interface TableLine {
  /** Offset of the name. */
  readonly start: number;
  readonly nameLength: number;
  readonly valueLength: number;
  readonly kind: number;
}

const NOTHING = Buffer.alloc(0);
const NO_FACTS = new Uint16Array(0);

export class DynamicTable {
  /** Contains the lines of all entries. */
  memory: Buffer = NOTHING;
  count = 0;
  /** Number of the newest entry; entries are numbered from 1 in the order of their insertion. */
  newest = 0;
  #size = 0;
  #limit: number;
  /** Offset for the next line. */
  #end = 0;
  /** The numbers of the entries, each at its own number modulo a power of two; grows with the count of entries. */
  #facts = NO_FACTS;
  /** That power of two, minus one. */
  #mask = -1;

  /** @param limit At most DEFAULT_TABLE_SIZE */
  constructor(limit = DEFAULT_TABLE_SIZE) {
    this.#limit = limit;
  }

  get limit(): number {
    return this.#limit;
  }

  /** Offset of an entry's line in `memory`. The entry must exist, as for the other methods with a number. */
  startOf(number: number): number {
    return this.#facts[(number & this.#mask) * STRIDE] ?? 0;
  }

  nameLengthOf(number: number): number {
    return this.#facts[(number & this.#mask) * STRIDE + 1] ?? 0;
  }

  valueLengthOf(number: number): number {
    return this.#facts[(number & this.#mask) * STRIDE + 2] ?? 0;
  }

  kindOf(number: number): number {
    return this.#facts[(number & this.#mask) * STRIDE + 3] ?? 0;
  }

  has(number: number): boolean {
    return number > this.newest - this.count && number <= this.newest;
  }

  /** Changes the limit, and evicts entries beyond it. */
  resize(limit: number): void {
    this.#limit = limit;
    this.#evict(0);
  }

  /** Adds the line at `start` in `bytes`. An entry larger than the table empties it (section 4.4). */
  insert(bytes: Buffer, { start, nameLength, valueLength, kind }: TableLine): void {
    const size = nameLength + valueLength + ENTRY_COST;
    this.#evict(size);
    if (size > this.#limit) return;
    if (this.count > this.#mask) this.#addSlots();
    const length = nameLength + valueLength + LINE_COST;
    this.#makeRoom(length);
    const to = this.#end;
    copyBytes(bytes, { start, end: start + length }, this.memory, to);
    this.#end += length;
    this.#size += size;
    this.count++;
    this.newest++;
    const at = (this.newest & this.#mask) * STRIDE;
    this.#facts[at] = to;
    this.#facts[at + 1] = nameLength;
    this.#facts[at + 2] = valueLength;
    this.#facts[at + 3] = kind;
  }

  #addSlots(): void {
    const mask = Math.max((this.#mask + 1) * 2, FIRST_ENTRIES) - 1;
    const facts = new Uint16Array((mask + 1) * STRIDE);
    for (let number = this.newest - this.count + 1; number <= this.newest; number++) {
      const [from, to] = [(number & this.#mask) * STRIDE, (number & mask) * STRIDE];
      for (let at = 0; at < STRIDE; at++) facts[to + at] = this.#facts[from + at] ?? 0;
    }
    this.#facts = facts;
    this.#mask = mask;
  }

  #evict(added: number): void {
    while (this.count > 0 && this.#size + added > this.#limit) {
      const oldest = this.newest - this.count + 1;
      this.#size -= this.nameLengthOf(oldest) + this.valueLengthOf(oldest) + ENTRY_COST;
      this.count--;
    }
    if (this.count === 0) this.#end = 0;
  }

  /** Lines of entries are consecutive: they are moved to the start of the memory when its end is reached. */
  #makeRoom(length: number): void {
    if (this.#end + length <= this.memory.length) return;
    const oldest = this.newest - this.count + 1;
    const start = this.count === 0 ? this.#end : this.startOf(oldest);
    const live = this.#end - start;
    const needed = live + length;
    // Once entries are evicted, half of the memory stays free, so that lines are seldom moved.
    const wanted = start > 0 ? needed * 2 : needed;
    let size = Math.max(this.memory.length, FIRST_MEMORY);
    while (size < wanted && size < 2 * DEFAULT_TABLE_SIZE) size *= 2;
    const memory = size === this.memory.length ? this.memory : Buffer.allocUnsafeSlow(size);
    this.memory.copy(memory, 0, start, this.#end);
    this.memory = memory;
    this.#end = live;
    for (let number = oldest; number <= this.newest; number++) {
      this.#facts[(number & this.#mask) * STRIDE] = this.startOf(number) - start;
    }
  }
}

/** Below this length a loop is faster than a call of native code. */
const SHORT = 48;

export function copyBytes(
  from: Buffer,
  { start, end }: { readonly start: number; readonly end: number },
  to: Buffer,
  at: number,
): void {
  if (end - start > SHORT) from.copy(to, at, start, end);
  else for (let byte = start, target = at; byte < end; byte++, target++) to[target] = from[byte] ?? 0;
}
