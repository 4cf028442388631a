/**
 * Keep-alive pool of upstream connections. The most recently used connection is reused first, so that the others age
 * out.
 */
import type { Runtime, UpstreamTarget } from "../../../compile/runtime.ts";
import type { Connect } from "../../../outbound/connect.ts";
import { TlsSessionCache } from "../../upstream/dial.ts";
import { TargetSweeper } from "../../upstream/target-sweeper.ts";
import {
  type ConnectionOwner,
  type ConnectionWaiter,
  dialConnection,
  popUsable,
  type UpstreamConnection,
} from "./upstream-connection.ts";

export interface UpstreamPoolOptions {
  readonly connect: Connect;
  /** Milliseconds that an idle connection is kept. */
  readonly keepAlive: number;
  /** Maximum idle connections per target. Default 512. */
  readonly maxIdle?: number;
}

/** Idle connections to one target. */
interface IdleConnections {
  readonly target: UpstreamTarget;
  readonly connections: UpstreamConnection[];
}

/** Maximum requests per connection, as Kong's upstream_keepalive_max_requests. */
const MAX_REQUESTS = 10_000;
/** As Kong's upstream_keepalive_pool_size. */
const MAX_IDLE = 512;

export class UpstreamPool implements ConnectionOwner {
  readonly #connect: Connect;
  readonly #keepAlive: number;
  readonly #maxIdle: number;
  /** Keyed by the target's key. */
  readonly #idle = new Map<string, IdleConnections>();
  readonly #retirement = new TargetSweeper<IdleConnections>({
    kept: this.#idle,
    drop: (key, { connections }) => {
      this.#idle.delete(key);
      for (const connection of connections) connection.destroy();
    },
  });
  readonly #open = new Set<UpstreamConnection>();
  readonly #sessions = new TlsSessionCache();
  readonly #sweeper: NodeJS.Timeout;
  #closed = false;

  constructor({ connect, keepAlive, maxIdle = MAX_IDLE }: UpstreamPoolOptions) {
    this.#connect = connect;
    this.#keepAlive = keepAlive;
    this.#maxIdle = maxIdle;
    this.#sweeper = setInterval(() => this.#dropOld(), Math.min(keepAlive, 5000)).unref();
  }

  /** Takes an idle connection to the target; null when there is none. */
  takeIdle({ key }: UpstreamTarget): UpstreamConnection | null {
    return popUsable(this.#idle.get(key)?.connections);
  }

  /**
   * Opens a connection. Returns a function that cancels the attempt.
   *
   * @param isGivenAway Whether the connection's socket may be handed to another owner
   */
  connect(target: UpstreamTarget, waiter: ConnectionWaiter, isGivenAway: boolean): () => void {
    const listener = {
      connected: (connection: UpstreamConnection) => {
        if (this.#closed) {
          connection.destroy();
          return;
        }
        this.#open.add(connection);
        waiter.connected(connection);
      },
      connectFailed: (error: Error) => waiter.connectFailed(error),
    };
    return dialConnection(target, listener, {
      connect: this.#connect,
      sessions: this.#sessions,
      owner: this,
      isGivenAway,
    });
  }

  release(connection: UpstreamConnection): void {
    const shelf = this.#shelfFor(connection.target);
    const isFull = shelf === null || shelf.connections.length >= this.#maxIdle;
    if (this.#closed || isFull || connection.requests >= MAX_REQUESTS) {
      connection.destroy();
      return;
    }
    connection.idleSince = performance.now();
    shelf.connections.push(connection);
  }

  drop(connection: UpstreamConnection): void {
    this.#open.delete(connection);
    const idle = this.#idle.get(connection.target.key)?.connections;
    const at = idle?.indexOf(connection) ?? -1;
    if (at >= 0) idle?.splice(at, 1);
  }

  /**
   * Receives the runtime of every new request. Connections to targets that are not in this runtime are closed once they
   * are idle.
   */
  follow(runtime: Runtime): void {
    this.#retirement.follow(runtime);
  }

  close(): void {
    this.#closed = true;
    clearInterval(this.#sweeper);
    this.#retirement.close();
    for (const connection of this.#open) connection.destroy();
  }

  /**
   * The idle connections to the target; null when no more requests go to it. Existing entries are not checked here: the
   * sweep after a runtime swap removes the entries of removed targets.
   */
  #shelfFor(target: UpstreamTarget): IdleConnections | null {
    const known = this.#idle.get(target.key);
    if (known !== undefined) return known;
    if (!this.#retirement.serves(target)) return null;
    const shelf: IdleConnections = { target, connections: [] };
    this.#idle.set(target.key, shelf);
    return shelf;
  }

  #dropOld(): void {
    const oldest = performance.now() - this.#keepAlive;
    for (const [key, { connections: idle }] of this.#idle) {
      const fresh = idle.findIndex(({ idleSince }) => idleSince > oldest);
      const old = idle.splice(0, fresh < 0 ? idle.length : fresh);
      for (const connection of old) connection.destroy();
      if (idle.length === 0) this.#idle.delete(key);
    }
  }
}
