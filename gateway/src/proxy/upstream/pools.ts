/** Connection pools, one for each service and target. A pool outlives runtimes as long as its target does. */
import type { Socket } from "node:net";
import { Pool } from "undici";
import type { Runtime, Target } from "../../runtime/runtime.ts";
import type { Connect } from "./connect.ts";
import { dial } from "./dial.ts";
import { Retirement } from "./retirement.ts";
import { TlsSessions } from "./tls-sessions.ts";

export interface PoolsOptions {
  readonly connect: Connect;
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
  readonly #sessions = new TlsSessions();
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
      sessions: this.#sessions,
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
  readonly sessions: TlsSessions;
  readonly onConnection: () => void;
}

function poolOf(target: Target, { connect, sessions, keepAlive, onConnection }: PoolOptions): Pool {
  const { host, port, scheme } = target;
  return new Pool(`${scheme}://${host.includes(":") ? `[${host}]` : host}:${port}`, {
    pipelining: 1,
    keepAliveTimeout: keepAlive,
    keepAliveMaxTimeout: keepAlive,
    connect(_options, done) {
      const dialler = {
        connected(socket: Socket) {
          onConnection();
          done(null, socket);
        },
        refused: (error: Error) => done(error, null),
      };
      dial(target, dialler, { connect, sessions, protocol: "http/1.1" });
    },
  });
}
