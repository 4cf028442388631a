/**
 * Caches of plugin instances. Implementations: memory (one worker) and Redis (all nodes that use the server). Both pass
 * the same test suite.
 */
import type { RedisServer } from "./counters.ts";

/** Measures and converts the values of a cache. A value must not be modified while it is cached. */
export interface CacheCodec<Value> {
  /** Bytes of memory that the value takes. */
  size(value: Value): number;
  /** The value as bytes, for a cache outside the process. */
  encode(value: Value): Buffer;
  /** The value; undefined if the bytes are not one, for example if another version of the plugin wrote them. */
  decode(bytes: Buffer): Value | undefined;
}

export interface CacheOptions<Value> {
  /**
   * Where values are kept. `memory`: in each worker of each node; together with the caches of other instances they take
   * at most the worker's share of SLUICE_PLUGIN_CACHE_MEMORY. Above this, the instance with the most bytes loses the
   * values that it has not used for the longest time. `redis`: in the server of the option `redis`, for all nodes that
   * use it.
   */
  readonly strategy: "memory" | "redis";
  readonly redis: RedisServer;
  /** Values stored with another generation are not found. Derive it from the config members that affect values. */
  readonly generation: string;
  readonly codec: CacheCodec<Value>;
}

/**
 * A method returns a promise if the values are not in this process. The promise rejects when the values cannot be
 * reached.
 */
export interface PluginCache<Value> {
  /** The value of the key; undefined if it is not cached or has expired. */
  get(key: string): Value | undefined | Promise<Value | undefined>;
  /**
   * Sets the value of the key. A value that alone exceeds the maximum size of the cache is not stored.
   *
   * @param lifetime Milliseconds until the value expires
   */
  set(key: string, value: Value, lifetime: number): void | Promise<void>;
  /** Returns whether the key had a value. */
  delete(key: string): boolean | Promise<boolean>;
  /** Removes all values of the instance, of all generations. */
  clear(): void | Promise<void>;
}
