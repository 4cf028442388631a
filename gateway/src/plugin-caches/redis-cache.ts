/** The cache of a plugin instance in Redis: all nodes share it, and Redis limits its size and expires its values. */
import type { CacheCodec, CacheOptions, PluginCache } from "@sluice/plugin-sdk";
import type { RedisConnections } from "../counters/redis/redis-connections.ts";

/** Number of keys that Redis examines in one step of `clear`. */
const SCANNED = 1000;

export class RedisCache<Value> implements PluginCache<Value> {
  readonly #connections: RedisConnections;
  readonly #redis: CacheOptions<Value>["redis"];
  readonly #codec: CacheCodec<Value>;
  readonly #instance: string;
  readonly #prefix: string;

  /** @param instance Id of the plugin instance */
  constructor(connections: RedisConnections, instance: string, { redis, generation, codec }: CacheOptions<Value>) {
    this.#connections = connections;
    this.#redis = redis;
    this.#codec = codec;
    this.#instance = `sluice:cache:${instance}:`;
    this.#prefix = `${this.#instance}${generation}:`;
  }

  async get(key: string): Promise<Value | undefined> {
    const bytes = await (await this.#client()).getBuffer(this.#prefix + key);
    return bytes === null ? undefined : this.#codec.decode(bytes);
  }

  async set(key: string, value: Value, lifetime: number): Promise<void> {
    const milliseconds = Math.ceil(lifetime);
    if (milliseconds > 0)
      await (await this.#client()).set(this.#prefix + key, this.#codec.encode(value), "PX", milliseconds);
  }

  async delete(key: string): Promise<boolean> {
    return (await (await this.#client()).del(this.#prefix + key)) > 0;
  }

  async clear(): Promise<void> {
    const client = await this.#client();
    let cursor = "0";
    do {
      const [next, keys] = await client.scan(cursor, "MATCH", `${this.#instance}*`, "COUNT", SCANNED);
      // One by one, because a Redis Cluster refuses commands with keys of several slots.
      await Promise.all(keys.map((key) => client.unlink(key)));
      cursor = next;
    } while (cursor !== "0");
  }

  #client() {
    return this.#connections.client(this.#redis);
  }
}
