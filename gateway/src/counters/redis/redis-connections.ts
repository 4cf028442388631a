/** Connections to Redis: one for every distinct redis config, shared, opened on first use and closed when unused. */
import { isIP, type Socket } from "node:net";
import type { CounterOptions, Warn } from "@sluice/plugin-sdk";
import type { Redis, RedisOptions } from "ioredis";
import type { Connect, OutboundConnectOptions } from "../../outbound/connect.ts";
import { RedisBatch } from "./redis-batch.ts";

export type RedisConfig = CounterOptions["redis"];

export interface RedisConnectionsOptions {
  /** Called once when a server is lost, and once when it is back. */
  readonly warn: Warn;
  /** Opens connections after a check of the address, because the host comes from the configuration. */
  readonly connect: Connect;
  /** Unix milliseconds. */
  readonly now: () => number;
  /** Milliseconds of disuse after which a connection is closed; default five minutes. */
  readonly idle?: number;
  /** The messages for `warn`. Default: messages about counters. */
  readonly messages?: { readonly lost: string; readonly back: string };
}

const countingMessages = {
  lost: "counters of plugins, such as those of rate limits, cannot be used: Redis cannot be reached",
  back: "counters of plugins can be used again: Redis is back",
};

const IDLE = 300_000;
const MAX_RECONNECT_DELAY = 2000;
/** Milliseconds that a server has to close a connection that the node has ended; ioredis' default. */
const DISCONNECT_TIMEOUT = 2000;

/** Milliseconds until the next attempt to connect, with jitter, so that not all nodes reconnect at the same time. */
const reconnectDelay = (tries: number) =>
  Math.min(50 * 2 ** Math.min(tries - 1, 10), MAX_RECONNECT_DELAY) * (0.75 + Math.random() / 2);

type Library = Pick<typeof import("ioredis"), "Redis" | "AbstractConnector">;

interface Connection {
  readonly client: Redis;
  readonly batch: RedisBatch;
  /** Resolves after the first attempt to connect; later attempts happen in the background. */
  readonly opened: Promise<unknown>;
  usedAt: number;
  readonly idleCheck: NodeJS.Timeout;
}

export class RedisConnections {
  readonly #warn: Warn;
  readonly #connect: Connect;
  readonly #idle: number;
  readonly #messages: { readonly lost: string; readonly back: string };
  readonly #now: () => number;
  readonly #connections = new Map<string, Connection>();
  /**
   * Caches the key of each config object, because computing the key takes as long as a call of `incrementBelowLimit`.
   */
  readonly #keys = new WeakMap<RedisConfig, string>();
  #closed = false;

  constructor({ warn, connect, now, idle = IDLE, messages = countingMessages }: RedisConnectionsOptions) {
    this.#messages = messages;
    this.#warn = warn;
    this.#connect = connect;
    this.#now = now;
    this.#idle = idle;
  }

  get size(): number {
    return this.#connections.size;
  }

  /**
   * The client for a config. Waits for the first connection attempt only; while the server is unreachable, commands of
   * the client reject immediately, so that requests are not delayed.
   */
  async client(config: RedisConfig): Promise<Redis> {
    return (await this.#connection(config)).client;
  }

  /**
   * The batch that combines the `incrementBelowLimit` calls of one turn of the event loop for the Redis server of this
   * config.
   */
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

  /** The client library is loaded on demand, because it uses memory in every worker. */
  async #openFirst(key: string, config: RedisConfig): Promise<Connection> {
    const library = await import("ioredis");
    if (this.#closed) throw new Error("the connections to Redis are closed");
    return this.#connections.get(key) ?? this.#open(key, config, library);
  }

  #open(key: string, config: RedisConfig, library: Library): Connection {
    const destination = destinationOf(config);
    const Connector = connectorOf(library, () => this.#connect(destination));
    const client = new library.Redis({ ...redisOptions(config), Connector });
    this.#report(client, config);
    const connection: Connection = {
      client,
      batch: new RedisBatch(client, this.#now),
      // A failure shows in the next command; ioredis retries in the background.
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
      this.#warn(this.#messages.lost, { host, port, reason: error.message });
    });
    client.on("ready", () => {
      if (lost) this.#warn(this.#messages.back, { host, port });
      lost = false;
    });
  }
}

/** Makes ioredis use the sockets from `open`, whose addresses are checked; ioredis has no other hook for this. */
function connectorOf(library: Library, open: () => Socket) {
  return class extends library.AbstractConnector {
    constructor() {
      super(DISCONNECT_TIMEOUT);
    }

    override async connect(): Promise<Socket> {
      this.connecting = true;
      const stream = open();
      stream.once("error", (error) => {
        this.firstError = error;
      });
      this.stream = stream;
      return stream;
    }
  };
}

/**
 * Without `replyMapping`, so that the client has the type `Redis`: for any other type, the type checker would compare
 * all commands of both types, which takes it a tenth of its time.
 */
export function redisOptions(config: RedisConfig): Omit<RedisOptions, "replyMapping"> {
  const { timeout, username, password, database } = config;
  return {
    db: database,
    ...(password === null ? {} : { password, ...(username === null ? {} : { username }) }),
    // `tls` only tells ioredis which event marks the connection as open; the TLS options are in `destinationOf`.
    ...(config.ssl ? { tls: {} } : {}),
    // The connection to an unresponsive server is closed after this time, so that later requests do not wait for it.
    ...(timeout === 0 ? {} : { connectTimeout: timeout, commandTimeout: timeout, socketTimeout: timeout }),
    lazyConnect: true,
    // All commands of a turn of the event loop are sent together, except scripts: RedisBatch itself combines the calls
    // of `incrementBelowLimit`.
    enableAutoPipelining: true,
    autoPipeliningIgnoredCommands: ["evalsha", "eval"],
    // A command that is sent twice would count twice, and a request must not wait for a lost server.
    autoResendUnfulfilledCommands: false,
    enableOfflineQueue: false,
    maxRetriesPerRequest: 0,
    retryStrategy: reconnectDelay,
    connectionName: "sluice",
    disableClientInfo: true,
  };
}

export function destinationOf({ host, port, ssl, ssl_verify, server_name }: RedisConfig): OutboundConnectOptions {
  if (host === null) throw new Error("config.redis.host is not set");
  if (!ssl) return { host, port };
  const servername = server_name ?? (isIP(host) === 0 ? host : undefined);
  return { host, port, tls: { rejectUnauthorized: ssl_verify, ...(servername !== undefined && { servername }) } };
}
