/** Connection pools, one per service and target. A pool outlives runtimes as long as its target exists. */
import type { Socket } from "node:net";
import { Pool } from "undici";
import type { Runtime, UpstreamTarget } from "../../compile/runtime.ts";
import type { Connect } from "../../outbound/connect.ts";
import { dialTarget, TlsSessionCache } from "../upstream/dial.ts";
import { TargetSweeper } from "../upstream/target-sweeper.ts";

export interface UndiciPoolsOptions {
  readonly connect: Connect;
  /** Milliseconds for which an idle connection is kept. */
  readonly keepAlive: number;
}

export class UndiciPools {
  readonly #options: UndiciPoolsOptions;
  /** Keyed by the target's key. */
  readonly #pools = new Map<string, Kept>();
  readonly #retirement = new TargetSweeper<Kept>({
    kept: this.#pools,
    drop: (key, { pool }) => {
      this.#pools.delete(key);
      // Resolves when the requests under way have ended; failed ones have already been reported to their clients.
      pool.close().catch(() => pool.destroy());
    },
  });
  readonly #sessions = new TlsSessionCache();
  /** Time of each pool's last new connection. */
  readonly #connected = new WeakMap<Pool, number>();

  constructor(options: UndiciPoolsOptions) {
    this.#options = options;
  }

  of(target: UpstreamTarget): Pool {
    const known = this.#pools.get(target.key);
    if (known !== undefined) return known.pool;
    const pool = this.#open(target);
    this.#pools.set(target.key, { target, pool });
    return pool;
  }

  #open(target: UpstreamTarget): Pool {
    const { host, port, scheme } = target;
    const { connect, keepAlive } = this.#options;
    const pool: Pool = new Pool(`${scheme}://${host.includes(":") ? `[${host}]` : host}:${port}`, {
      pipelining: 1,
      keepAliveTimeout: keepAlive,
      keepAliveMaxTimeout: keepAlive,
      connect: (_options, done) => {
        const dialListener = {
          connected: (socket: Socket) => {
            this.#connected.set(pool, performance.now());
            done(null, socket);
          },
          failed: (error: Error) => done(error, null),
        };
        dialTarget(target, dialListener, { connect, sessions: this.#sessions, protocol: "http/1.1" });
      },
    });
    return pool;
  }

  /** Whether a connection to the target was established at or after `time` (`performance.now()`). */
  hasConnectedSince(target: UpstreamTarget, time: number): boolean {
    const pool = this.#pools.get(target.key)?.pool;
    return pool !== undefined && (this.#connected.get(pool) ?? Number.NEGATIVE_INFINITY) >= time;
  }

  /**
   * Receives the runtime of every new request: after a swap, the pools of targets that are not in the new runtime are
   * closed once they are idle.
   */
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
  readonly target: UpstreamTarget;
  readonly pool: Pool;
}
