/** The caches of plugin instances in the memory of one worker. Their total bytes and number of values are bounded. */
import type { CacheCodec, PluginCache } from "@sluice/plugin-sdk";

export interface MemoryCachesOptions {
  /** Maximum bytes of all values with their keys. */
  readonly bytes: number;
  /** Maximum number of values; default 65,536. */
  readonly values?: number;
  /** Unix milliseconds. */
  readonly now: () => number;
}

const MAX_VALUES = 65_536;

/** Bytes of a value's entry and of its place in the map. */
const OVERHEAD = 200;

export class MemoryCaches {
  readonly now: () => number;
  readonly #maxBytes: number;
  readonly #maxValues: number;
  /** The caches that contain values. */
  readonly #used = new Set<MemoryCache<unknown>>();
  #bytes = 0;
  #values = 0;

  constructor({ bytes, values = MAX_VALUES, now }: MemoryCachesOptions) {
    this.#maxBytes = bytes;
    this.#maxValues = values;
    this.now = now;
  }

  get bytes(): number {
    return this.#bytes;
  }

  open<Value>(codec: CacheCodec<Value>): MemoryCache<Value> {
    return new MemoryCache(this, codec);
  }

  mayHold(bytes: number): boolean {
    return bytes <= this.#maxBytes;
  }

  /**
   * Called when a cache has grown or shrunk. Above a bound, the cache with the most bytes loses its least recently used
   * values. So an instance with many values loses its own values before other instances lose any.
   */
  changed(cache: MemoryCache<unknown>, bytes: number, values: number): void {
    this.#bytes += bytes;
    this.#values += values;
    if (cache.size > 0) this.#used.add(cache);
    else this.#used.delete(cache);
    while (this.#bytes > this.#maxBytes || this.#values > this.#maxValues) this.#largest()?.deleteOldest();
  }

  #largest(): MemoryCache<unknown> | undefined {
    let largest: MemoryCache<unknown> | undefined;
    for (const cache of this.#used) if (largest === undefined || cache.bytes > largest.bytes) largest = cache;
    return largest;
  }
}

interface Entry<Value> {
  readonly value: Value;
  readonly bytes: number;
  /** Unix milliseconds. */
  readonly expires: number;
}

export class MemoryCache<Value> implements PluginCache<Value> {
  readonly #all: MemoryCaches;
  readonly #codec: CacheCodec<Value>;
  /** The least recently used entry comes first. */
  readonly #entries = new Map<string, Entry<Value>>();
  /** The most recently used key; null: it is not known. */
  #newest: string | null = null;
  #hasEnded = false;
  bytes = 0;

  constructor(all: MemoryCaches, codec: CacheCodec<Value>) {
    this.#all = all;
    this.#codec = codec;
  }

  get size(): number {
    return this.#entries.size;
  }

  get(key: string): Value | undefined {
    const entry = this.#entries.get(key);
    if (entry === undefined) return undefined;
    if (entry.expires <= this.#all.now()) {
      this.delete(key);
      return undefined;
    }
    // A key that is used repeatedly need not be moved to the end of the map, which costs more than the lookup.
    if (key !== this.#newest) {
      this.#entries.delete(key);
      this.#entries.set(key, entry);
      this.#newest = key;
    }
    return entry.value;
  }

  /** Like `get`, but the value does not count as used. */
  peek(key: string): Value | undefined {
    const entry = this.#entries.get(key);
    return entry !== undefined && entry.expires > this.#all.now() ? entry.value : undefined;
  }

  set(key: string, value: Value, lifetime: number): void {
    this.#remove(key);
    const bytes = OVERHEAD + 2 * key.length + this.#codec.size(value);
    if (this.#hasEnded || !this.#all.mayHold(bytes)) return;
    this.#entries.set(key, { value, bytes, expires: this.#all.now() + lifetime });
    this.#newest = key;
    this.bytes += bytes;
    this.#all.changed(this, bytes, 1);
  }

  /** Returns whether there was a value; an expired value does not count. */
  delete(key: string): boolean {
    return (this.#remove(key)?.expires ?? 0) > this.#all.now();
  }

  deleteOldest(): void {
    const oldest = this.#entries.keys().next();
    if (!oldest.done) this.#remove(oldest.value);
  }

  clear(): void {
    const { bytes, size } = this;
    this.#entries.clear();
    this.bytes = 0;
    this.#all.changed(this, -bytes, -size);
  }

  /** Frees the memory. Values that are set afterwards are not stored. */
  end(): void {
    this.#hasEnded = true;
    this.clear();
  }

  #remove(key: string): Entry<Value> | undefined {
    const entry = this.#entries.get(key);
    if (entry === undefined) return undefined;
    this.#entries.delete(key);
    this.bytes -= entry.bytes;
    this.#all.changed(this, -entry.bytes, -1);
    return entry;
  }
}
