/**
 * Counters in Redis, shared by all nodes. With `sync_rate: -1` every take is made in Redis (redis-batch.ts): exact over
 * all nodes while it answers. With a sync_rate a node counts by itself and adds up every so many seconds: see
 * redis-synced.ts.
 */
import type { RateLimitingConfig } from "@sluice/model";
import type { Connect } from "../../proxy/upstream/connect.ts";
import type { Counter, Counters, Taken, Warn } from "./counters.ts";
import { RedisConnections } from "./redis-connections.ts";
import { SyncedCounters } from "./redis-synced.ts";

export interface RedisCountersOptions {
  readonly warn: Warn;
  readonly connect: Connect;
  /** Unix milliseconds, by the clock that the windows are cut with; default Date.now. */
  readonly now?: () => number;
  /** Milliseconds after its last use at which a connection is closed; default five minutes. */
  readonly idle?: number;
}

/** The sync_rate that stands for "count in Redis at every request". */
const EVERY_REQUEST = -1;

export class RedisCounters implements Counters {
  readonly #connections: RedisConnections;
  readonly #synced = new Map<string, SyncedCounters>();
  readonly #now: () => number;

  constructor({ warn, connect, now = Date.now, idle }: RedisCountersOptions) {
    this.#connections = new RedisConnections({ warn, connect, now, idle });
    this.#now = now;
  }

  /** How many connections are held. */
  get connections(): number {
    return this.#connections.size;
  }

  async take(counters: readonly Counter[], config: RateLimitingConfig): Promise<Taken> {
    if (config.sync_rate !== EVERY_REQUEST) return this.#syncedFor(config).take(counters);
    return (await this.#connections.batch(config.redis)).take(counters);
  }

  async close(): Promise<void> {
    await Promise.all([...this.#synced.values()].map((synced) => synced.close()));
    this.#connections.close();
  }

  #syncedFor({ redis, sync_rate }: RateLimitingConfig): SyncedCounters {
    const key = JSON.stringify([redis, sync_rate]);
    const found = this.#synced.get(key);
    if (found !== undefined) return found;
    // Configs come and go: a new one is the occasion to let go of those that nobody counts with.
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
