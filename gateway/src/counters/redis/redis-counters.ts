/**
 * Counters in Redis, shared by all nodes. With `sync_rate: -1` every call of `incrementBelowLimit` runs in Redis
 * (redis-batch.ts), so limits are exact over all nodes while Redis responds. With any other sync_rate, each worker
 * counts requests in memory and adds the counts to Redis once per `sync_rate` seconds (redis-synced-counters.ts).
 * `addAmount` always counts in Redis; with the amount 0 it returns the values in memory if there are any.
 */
import type { Bucket, BucketResult, Counter, CounterOptions, CounterResult, Counters, Warn } from "@sluice/plugin-sdk";
import type { Connect } from "../../outbound/connect.ts";
import { filledResult, levelOf, UNITS_PER_REQUEST, unitsAt } from "../bucket-levels.ts";
import { RedisConnections } from "./redis-connections.ts";
import { addScript, bucketKey, counterKey, counterLifetime, fillScript, runScript } from "./redis-scripts.ts";
import { SyncedCounters } from "./redis-synced-counters.ts";

export interface RedisCountersOptions {
  readonly warn: Warn;
  readonly connect: Connect;
  /** Unix milliseconds, from the clock that defines the windows; default Date.now. */
  readonly now?: () => number;
  /** Milliseconds of disuse after which a connection is closed; default five minutes. */
  readonly idle?: number;
}

/** The sync_rate for counting in Redis with every request. */
const EVERY_REQUEST = -1;

export class RedisCounters implements Counters {
  readonly #connections: RedisConnections;
  readonly #synced = new Map<string, SyncedCounters>();
  readonly #now: () => number;

  constructor({ warn, connect, now = Date.now, idle }: RedisCountersOptions) {
    this.#connections = new RedisConnections({ warn, connect, now, idle });
    this.#now = now;
  }

  get connections(): number {
    return this.#connections.size;
  }

  async incrementBelowLimit(counters: readonly Counter[], config: CounterOptions): Promise<CounterResult> {
    if (config.sync_rate !== EVERY_REQUEST) return this.#syncedFor(config).incrementBelowLimit(counters);
    return (await this.#connections.batch(config.redis)).incrementBelowLimit(counters);
  }

  async addAmount(counters: readonly Counter[], amount: number, config: CounterOptions): Promise<readonly number[]> {
    const isSynced = config.sync_rate !== EVERY_REQUEST;
    const known = amount === 0 && isSynced ? this.#synced.get(syncedKey(config))?.known(counters) : undefined;
    if (known !== undefined) return known;
    const client = await this.#connections.client(config.redis);
    const keys = counters.map(counterKey);
    if (amount === 0) return (await client.mget(keys)).map(Number);
    const now = this.#now();
    const values = counters.flatMap((counter) => [amount, counterLifetime(counter, now)]);
    return (await runScript(client, addScript, { keys, values })) as readonly number[];
  }

  async fillBuckets(buckets: readonly Bucket[], now: number, config: CounterOptions): Promise<BucketResult> {
    const client = await this.#connections.client(config.redis);
    const values = buckets.flatMap(({ interval, burst }) => [unitsAt(now, interval), burst, interval]);
    const reply = await runScript(client, fillScript, { keys: buckets.map(bucketKey), values });
    const [admitted, ...levels] = reply as readonly number[];
    return filledResult(admitted === 1, levels);
  }

  async bucketLevels(buckets: readonly Bucket[], now: number, config: CounterOptions): Promise<readonly number[]> {
    const client = await this.#connections.client(config.redis);
    const emptyAt = await client.mget(buckets.map(bucketKey));
    return buckets.map((bucket, at) => {
      const stored = emptyAt[at];
      return stored ? levelOf(Number(stored) - unitsAt(now, bucket.interval), bucket) / UNITS_PER_REQUEST : 0;
    });
  }

  async close(): Promise<void> {
    await Promise.all([...this.#synced.values()].map((synced) => synced.close()));
    this.#connections.close();
  }

  #syncedFor(config: CounterOptions): SyncedCounters {
    const { redis, sync_rate } = config;
    const key = syncedKey(config);
    const found = this.#synced.get(key);
    if (found !== undefined) return found;
    // When a new config appears, the counters of unused configs are dropped.
    for (const [other, synced] of this.#synced) if (synced.idle) this.#synced.delete(other);
    const made = new SyncedCounters({
      client: () => this.#connections.client(redis),
      interval: sync_rate * 1000,
      now: this.#now,
    });
    this.#synced.set(key, made);
    return made;
  }
}

const syncedKey = ({ redis, sync_rate }: CounterOptions): string => JSON.stringify([redis, sync_rate]);
