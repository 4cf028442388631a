/** Connections to Redis: one for every distinct redis config, shared, opened on first use and closed when unused. */
import { isIP } from "node:net";
import type { RateLimitingConfig } from "@sluice/model";
import type { Redis, RedisOptions } from "ioredis";
import type { Warn } from "./counters.ts";
import { RedisBatch } from "./redis-batch.ts";

export type RedisConfig = RateLimitingConfig["redis"];

export interface RedisConnectionsOptions {
  /** Is told when a server is lost, and when it is back; not for every request in between. */
  readonly warn: Warn;
  /** Unix milliseconds. */
  readonly now: () => number;
  /** Milliseconds after its last use at which a connection is closed; default five minutes. */
  readonly idle?: number;
}

const IDLE = 300_000;
const MAX_RECONNECT_DELAY = 2000;

/** Milliseconds to the next try, with jitter, so that the nodes do not come back all at once. */
const reconnectDelay = (tries: number) =>
  Math.min(50 * 2 ** Math.min(tries - 1, 10), MAX_RECONNECT_DELAY) * (0.75 + Math.random() / 2);

interface Connection {
  readonly client: Redis;
  readonly batch: RedisBatch;
  /** The first attempt; later ones happen in the background. */
  readonly opened: Promise<unknown>;
  usedAt: number;
  readonly idleCheck: NodeJS.Timeout;
}

export class RedisConnections {
  readonly #warn: Warn;
  readonly #idle: number;
  readonly #now: () => number;
  readonly #connections = new Map<string, Connection>();
  /** The key of a config: they stay, and to make it takes as long as to count. */
  readonly #keys = new WeakMap<RedisConfig, string>();
  #closed = false;

  constructor({ warn, now, idle = IDLE }: RedisConnectionsOptions) {
    this.#warn = warn;
    this.#now = now;
    this.#idle = idle;
  }

  /** How many connections are held. */
  get size(): number {
    return this.#connections.size;
  }

  /**
   * The client for a config. Waits for the first attempt to connect only; while the server is away its commands
   * reject at once, so that requests are not held up.
   */
  async client(config: RedisConfig): Promise<Redis> {
    return (await this.#connection(config)).client;
  }

  /** Where takes are counted that come together. */
  async batch(config: RedisConfig): Promise<RedisBatch> {
    return (await this.#connection(config)).batch;
  }

  async #connection(config: RedisConfig): Promise<Connection> {
    const key = this.#keyOf(config);
    const connection = this.#connections.get(key) ?? (await this.#openFirst(key, config));
    connection.usedAt = performance.now();
    await connection.opened;
    return connection;
  }

  #keyOf(config: RedisConfig): string {
    const known = this.#keys.get(config);
    if (known !== undefined) return known;
    const key = JSON.stringify(config);
    this.#keys.set(config, key);
    return key;
  }

  close(): void {
    this.#closed = true;
    for (const key of [...this.#connections.keys()]) this.#drop(key);
  }

  /** The client library is loaded by who counts in Redis alone: it takes memory in every worker. */
  async #openFirst(key: string, config: RedisConfig): Promise<Connection> {
    const library = await import("ioredis");
    if (this.#closed) throw new Error("the counters are closed");
    return this.#connections.get(key) ?? this.#open(key, config, library.Redis);
  }

  #open(key: string, config: RedisConfig, Client: typeof Redis): Connection {
    const client = new Client(redisOptions(config));
    this.#report(client, config);
    const connection: Connection = {
      client,
      batch: new RedisBatch(client, this.#now),
      // A failure shows in the command that follows, with ioredis trying again in the background.
      opened: client.connect().catch(() => undefined),
      usedAt: performance.now(),
      idleCheck: setInterval(() => {
        if (performance.now() - connection.usedAt >= this.#idle) this.#drop(key);
      }, this.#idle).unref(),
    };
    this.#connections.set(key, connection);
    return connection;
  }

  #drop(key: string): void {
    const connection = this.#connections.get(key);
    if (connection === undefined) return;
    this.#connections.delete(key);
    clearInterval(connection.idleCheck);
    connection.client.disconnect();
  }

  #report(client: Redis, { host, port }: RedisConfig): void {
    let lost = false;
    client.on("error", (error: Error) => {
      if (lost) return;
      lost = true;
      this.#warn("rate limits cannot be counted: Redis cannot be reached", { host, port, reason: error.message });
    });
    client.on("ready", () => {
      if (lost) this.#warn("rate limits are counted again: Redis is back", { host, port });
      lost = false;
    });
  }
}

/** What ioredis is told for a config. */
export function redisOptions(config: RedisConfig): RedisOptions {
  if (config.host === null) throw new Error("config.redis.host is not set");
  const { host, port, timeout, username, password, database } = config;
  return {
    host,
    port,
    db: database,
    ...(password === null ? {} : { password, ...(username === null ? {} : { username }) }),
    ...(config.ssl ? { tls: tlsOptions(host, config) } : {}),
    // A server that says nothing for so long is given up, so that the requests after this one do not wait for it.
    ...(timeout === 0 ? {} : { connectTimeout: timeout, commandTimeout: timeout, socketTimeout: timeout }),
    lazyConnect: true,
    // All commands of a turn of the event loop leave together; scripts have come together before.
    enableAutoPipelining: true,
    autoPipeliningIgnoredCommands: ["evalsha", "eval"],
    // A count that is sent twice is wrong, and a request that waits for a lost server is held up for nothing.
    autoResendUnfulfilledCommands: false,
    enableOfflineQueue: false,
    maxRetriesPerRequest: 0,
    retryStrategy: reconnectDelay,
    connectionName: "sluice",
    disableClientInfo: true,
  };
}

function tlsOptions(host: string, { ssl_verify, server_name }: RedisConfig) {
  const servername = server_name ?? (isIP(host) === 0 ? host : undefined);
  return { rejectUnauthorized: ssl_verify, ...(servername === undefined ? {} : { servername }) };
}
