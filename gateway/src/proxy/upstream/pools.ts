/** Connection pools, one for each service and target. A pool outlives runtimes as long as its target does. */
import { buildConnector, errors, Pool } from "undici";
import type { Runtime, Target } from "../../runtime/runtime.ts";
import type { Guard } from "./guard.ts";
import { Retirement } from "./retirement.ts";

export interface PoolsOptions {
  readonly guard: Guard;
  /** Milliseconds that an idle connection is kept. */
  readonly keepAlive: number;
}

export class Pools {
  readonly #options: PoolsOptions;
  /** By the target's key. */
  readonly #pools = new Map<string, Kept>();
  readonly #retirement = new Retirement<Kept>({
    kept: this.#pools,
    drop: (key, { pool }) => {
      this.#pools.delete(key);
      // Resolves when the requests under way have ended; those that were cut have told their clients already.
      pool.close().catch(() => pool.destroy());
    },
  });
  /** When the last connection to a target was made, by its pool. */
  readonly #connected = new WeakMap<Pool, number>();

  constructor(options: PoolsOptions) {
    this.#options = options;
  }

  get size(): number {
    return this.#pools.size;
  }

  of(target: Target): Pool {
    const known = this.#pools.get(target.key);
    if (known !== undefined) return known.pool;
    const pool: Pool = poolOf(target, {
      ...this.#options,
      onConnection: () => this.#connected.set(pool, performance.now()),
    });
    this.#pools.set(target.key, { target, pool });
    return pool;
  }

  /** Whether a connection to the target was made since then (`performance.now()`). */
  hasConnectedSince(target: Target, time: number): boolean {
    const pool = this.#pools.get(target.key)?.pool;
    return pool !== undefined && (this.#connected.get(pool) ?? Number.NEGATIVE_INFINITY) >= time;
  }

  /** Told the runtime of every new request: after a swap, pools that it does not use close once they are idle. */
  follow(runtime: Runtime): void {
    this.#retirement.follow(runtime);
  }

  async close(): Promise<void> {
    this.#retirement.close();
    const pools = [...this.#pools.values()];
    this.#pools.clear();
    await Promise.all(pools.map(({ pool }) => pool.destroy()));
  }
}

interface Kept {
  readonly target: Target;
  readonly pool: Pool;
}

interface PoolOptions extends PoolsOptions {
  readonly onConnection: () => void;
}

function poolOf(target: Target, { guard, keepAlive, onConnection }: PoolOptions): Pool {
  const { host, port, scheme, connectTimeout, certificate } = target;
  const connect = buildConnector({
    timeout: connectTimeout,
    lookup: guard.lookup(port),
    rejectUnauthorized: target.verify,
    ...(certificate !== null && { cert: certificate.cert, key: certificate.key }),
  });
  return new Pool(`${scheme}://${host.includes(":") ? `[${host}]` : host}:${port}`, {
    pipelining: 1,
    keepAliveTimeout: keepAlive,
    keepAliveMaxTimeout: keepAlive,
    connect(options, done) {
      try {
        // What is dialled, not what was written: a URL's parser makes 127.0.0.1 of `127.1` and of `0x7f000001`.
        guard.check(options.hostname, port);
      } catch (error) {
        return done(error as Error, null);
      }
      // The connector's own timer may be a second late; it clears away what this one gave up.
      let late = false;
      const timer = setTimeout(() => {
        late = true;
        done(new errors.ConnectTimeoutError(), null);
      }, connectTimeout);
      // Whatever the request was called: a name that may be the client's word is no name for TLS.
      const named = scheme === "https" ? { ...options, servername: target.serverName ?? "" } : options;
      connect(named, (...outcome) => {
        clearTimeout(timer);
        if (late) outcome[1]?.destroy();
        else {
          if (outcome[1] !== null) onConnection();
          done(...outcome);
        }
      });
    },
  });
}
