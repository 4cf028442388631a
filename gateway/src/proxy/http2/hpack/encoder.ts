/**
 * Encoder of header blocks (RFC 7541): entries of the static and of a dynamic table, and literals without Huffman code,
 * because bytes cost less than the time to encode them. Values of sensitive fields are never indexed.
 */
import { isText } from "../../http1/parse/bytes.ts";
import { DEFAULT_TABLE_SIZE, DynamicTable, LINE_COST } from "./dynamic-table.ts";
import { STATIC_COUNT, staticFields } from "./static-table.ts";

/** A name as it is encoded. */
interface EncodedName {
  readonly text: string;
  /** Index in the static table; 0: none. */
  readonly index: number;
  /** Indexes of the entries in the static table that have this name, by their value; undefined: there are none. */
  readonly values: ReadonlyMap<string, number> | undefined;
  readonly indexing: number;
  readonly hash: number;
}

const INDEXED = 0x80;
const INCREMENTAL = 0x40;
const RESIZE = 0x20;
const NEVER_INDEXED = 0x10;
const WITHOUT_INDEXING = 0;
/** Prefix lengths as masks (section 5.1). */
const SEVEN = 0x7f;
const SIX = 0x3f;
const FIVE = 0x1f;
const FOUR = 0x0f;
const CONTINUED = 0x80;

/** Values of these names are secrets, which proxies must not add to a table either (section 7.1.3). */
const sensitive: ReadonlySet<string> = new Set([
  ...["authorization", "cookie", "proxy-authorization", "set-cookie", "authentication-info"],
]);
/** Values of these names differ from message to message, so entries would only displace others. */
const varying: ReadonlySet<string> = new Set([
  ...["age", "content-length", "content-range", "etag", "expires", "last-modified", "location", "x-sluice-request-id"],
  ...["x-kong-request-id", "traceparent", "grpc-message", "grpc-timeout", ":path", "x-forwarded-path"],
  ...["x-forwarded-for", "x-real-ip", "ratelimit-remaining", "ratelimit-reset"],
  ...["second", "minute", "hour", "day", "month", "year"].map((period) => `x-ratelimit-remaining-${period}`),
]);

/** Static indexes of names, and of names with values. */
const nameIndexes = new Map<string, number>();
const fieldIndexes = new Map<string, ReadonlyMap<string, number>>();
for (const [at, [name, value]] of staticFields.entries()) {
  if (!nameIndexes.has(name)) nameIndexes.set(name, at + 1);
  if (value !== "") fieldIndexes.set(name, new Map([...(fieldIndexes.get(name) ?? []), [value, at + 1]]));
}

/** A longer value is not indexed, because it would displace many entries. */
const MOST_INDEXED = 256;
/** Hashes of entries are told apart by this many values, at first and at most; powers of two. */
const FIRST_BUCKETS = 16;
const MOST_BUCKETS = 256;
/** FNV-1a. */
const PRIME = 0x01000193;
const SEED = 0x811c9dc5;

/** By name. Bounded, because upstreams choose names. */
const names = new Map<string, EncodedName>();
const MOST_NAMES = 1024;

function encodedName(text: string): EncodedName {
  const found = names.get(text);
  if (found !== undefined) return found;
  const unindexed = sensitive.has(text) ? NEVER_INDEXED : WITHOUT_INDEXING;
  const indexing = sensitive.has(text) || varying.has(text) ? unindexed : INCREMENTAL;
  const name = {
    text,
    index: nameIndexes.get(text) ?? 0,
    values: fieldIndexes.get(text),
    indexing,
    hash: hashOf(SEED, text),
  };
  if (names.size < MOST_NAMES) names.set(text, name);
  return name;
}

function hashOf(seed: number, text: string): number {
  let hash = seed;
  for (let at = 0; at < text.length; at++) hash = Math.imul(hash ^ text.charCodeAt(at), PRIME);
  return hash;
}

const FIRST_ROOM = 8192;
/** Bytes of an encoded field besides name and value: an index and two lengths. */
const OVERHEAD = 16;
/** Below this length a loop is faster than a call of native code. */
const SHORT = 48;

const NO_ENTRIES = new Uint32Array(0);

/** Shared by all encoders: a block is encoded and copied in one call. */
let block: Buffer = Buffer.allocUnsafeSlow(FIRST_ROOM);

export class HpackEncoder {
  /** Bytes of the encoded block. */
  length = 0;
  /** Bytes of the block's fields in HTTP/1.1 format. */
  textSize = 0;
  readonly #table = new DynamicTable();
  /** Numbers of the newest entries by hash. Empty until an entry is added; grows with the count of entries. */
  #newest = NO_ENTRIES;
  /** A limit that the next block announces; -1: none. */
  #limit = -1;
  /** The lowest limit since the last block. */
  #lowest = DEFAULT_TABLE_SIZE;

  /** The encoded block, from 0 to `length`; valid until any encoder begins the next one. */
  get bytes(): Buffer {
    return block;
  }

  /** Follows the peer's SETTINGS_HEADER_TABLE_SIZE. */
  limitTable(size: number): void {
    const limit = Math.min(size, DEFAULT_TABLE_SIZE);
    if (this.#limit < 0 && limit === this.#table.limit) return;
    this.#limit = limit;
    this.#lowest = Math.min(this.#lowest, limit);
  }

  begin(): void {
    this.length = 0;
    this.textSize = 0;
    if (this.#limit < 0) return;
    // The peer evicted the entries beyond a limit that was lower in between (section 4.2).
    for (const limit of new Set([this.#lowest, this.#limit])) {
      this.#integer(RESIZE, FIVE, limit);
      this.#table.resize(limit);
    }
    this.#limit = -1;
    this.#lowest = DEFAULT_TABLE_SIZE;
  }

  status(status: number): void {
    this.field(":status", String(status));
  }

  /** @param lower The name in lower case; name and value have one character per byte */
  field(lower: string, value: string): void {
    this.#makeRoom(lower.length + value.length);
    this.textSize += lower.length + value.length + LINE_COST;
    const name = encodedName(lower);
    const index = name.values?.get(value);
    if (index !== undefined) {
      this.#integer(INDEXED, SEVEN, index);
      return;
    }
    const mayIndex = name.indexing === INCREMENTAL && value.length <= MOST_INDEXED && this.#table.limit > 0;
    if (mayIndex) this.#indexed(name, value);
    else this.#literal(name, name.indexing === INCREMENTAL ? WITHOUT_INDEXING : name.indexing, value);
  }

  #indexed(name: EncodedName, value: string): void {
    const table = this.#table;
    const hash = hashOf(name.hash, value);
    const number = this.#newest[hash & (this.#newest.length - 1)] ?? 0;
    if (number > 0 && table.has(number) && this.#isEntry(number, name.text, value)) {
      this.#integer(INDEXED, SEVEN, STATIC_COUNT + 1 + table.newest - number);
      return;
    }
    this.#literal(name, INCREMENTAL, value);
    const { text } = name;
    // The line is needed only in the table: behind the block it is overwritten by the next field.
    this.#makeRoom(text.length + value.length);
    block.write(`${text}: ${value}\r\n`, this.length, "latin1");
    table.insert(block, { start: this.length, nameLength: text.length, valueLength: value.length, kind: 0 });
    if (this.#newest.length < Math.min(table.count * 2, MOST_BUCKETS)) this.#addBuckets();
    this.#newest[hash & (this.#newest.length - 1)] = table.newest;
  }

  /** An entry is in one of the two buckets that follow from its former one. In the other it is never found. */
  #addBuckets(): void {
    const former = this.#newest;
    this.#newest = new Uint32Array(Math.max(former.length * 2, FIRST_BUCKETS));
    this.#newest.set(former);
    this.#newest.set(former, former.length);
  }

  #isEntry(number: number, name: string, value: string): boolean {
    const table = this.#table;
    if (table.nameLengthOf(number) !== name.length || table.valueLengthOf(number) !== value.length) return false;
    const start = table.startOf(number);
    return isText(table.memory, start, name) && isText(table.memory, start + name.length + 2, value);
  }

  #literal({ text, index }: EncodedName, indexing: number, value: string): void {
    this.#integer(indexing, indexing === INCREMENTAL ? SIX : FOUR, index);
    if (index === 0) this.#string(text);
    this.#string(value);
  }

  #string(text: string): void {
    const { length } = text;
    this.#integer(0, SEVEN, length);
    if (length > SHORT) block.write(text, this.length, "latin1");
    else for (let at = 0; at < length; at++) block[this.length + at] = text.charCodeAt(at);
    this.length += length;
  }

  #integer(pattern: number, prefix: number, value: number): void {
    if (value < prefix) {
      block[this.length++] = pattern | value;
      return;
    }
    block[this.length++] = pattern | prefix;
    let rest = value - prefix;
    for (; rest > SEVEN; rest >>= 7) block[this.length++] = (rest & SEVEN) | CONTINUED;
    block[this.length++] = rest;
  }

  #makeRoom(bytes: number): void {
    const needed = this.length + bytes + OVERHEAD;
    if (needed <= block.length) return;
    const larger = Buffer.allocUnsafeSlow(Math.max(needed, block.length * 2));
    block.copy(larger, 0, 0, this.length);
    block = larger;
  }
}
