/** The caches of a worker's plugin instances, in memory or in Redis, as the strategy of each cache says. */
import type { CacheOptions, PluginCache, Warn } from "@sluice/plugin-sdk";
import { RedisConnections } from "../counters/redis/redis-connections.ts";
import type { Connect } from "../outbound/connect.ts";
import { MemoryCaches } from "./memory-caches.ts";
import { RedisCache } from "./redis-cache.ts";

export interface CreateCachesOptions {
  /** Maximum bytes of the caches in memory. */
  readonly memory: number;
  /** Called when Redis becomes unreachable and when it can be reached again. */
  readonly warn: Warn;
  /** Opens the connections to Redis. */
  readonly connect: Connect;
  /** Unix milliseconds; default Date.now. */
  readonly now?: () => number;
}

export interface InstanceCache<Value> extends PluginCache<Value> {
  /** Like `get`, but does not mark the value as used. Absent if `get` does not mark it either. */
  peek?(key: string): Value | undefined;
  /** Must be called when the instance ends. Absent if the values of the instance are not in this process. */
  end?(): void;
}

export interface PluginCaches {
  /** @param instance Id of the plugin instance */
  open<Value>(instance: string, options: CacheOptions<Value>): InstanceCache<Value>;
  /** Closes the connections to Redis. */
  close(): void;
}

export function createCaches({ memory, warn, connect, now = Date.now }: CreateCachesOptions): PluginCaches {
  const inMemory = new MemoryCaches({ bytes: memory, now });
  const connections = new RedisConnections({
    warn,
    connect,
    now,
    messages: {
      lost: "plugins cannot use their caches: Redis cannot be reached",
      back: "plugins use their caches again: Redis is back",
    },
  });
  return {
    open: <Value>(instance: string, options: CacheOptions<Value>) =>
      options.strategy === "memory"
        ? inMemory.open(options.codec)
        : new RedisCache<Value>(connections, instance, options),
    close: () => connections.close(),
  };
}
