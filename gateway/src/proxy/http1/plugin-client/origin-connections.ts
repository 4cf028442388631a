/** The connections of a plugin's HTTP client to one server. Requests wait while all of them are busy. */
import type { UpstreamTarget } from "../../../compile/runtime.ts";
import type { Connect } from "../../../outbound/connect.ts";
import { IdleTimer } from "../../timers/idle-timer.ts";
import { TlsSessionCache } from "../../upstream/dial.ts";
import {
  type ConnectionOwner,
  type ConnectionWaiter,
  dialConnection,
  popUsable,
  type UpstreamConnection,
} from "../upstream/upstream-connection.ts";

/** Maximum connections to one server. */
const MAX_CONNECTIONS = 32;
/** Maximum idle connections to one server. */
const MAX_IDLE = 4;

export interface OriginConnectionsOptions {
  readonly connect: Connect;
  readonly target: UpstreamTarget;
  /** Milliseconds that an idle connection is kept; 0: connections are not kept. */
  readonly keepAlive: number;
}

/** A request that has no connection yet. */
interface Pending {
  readonly waiter: ConnectionWaiter;
  /** Cancels the attempt to open a connection; null: the request waits for its turn. */
  cancel: (() => void) | null;
}

export class OriginConnections implements ConnectionOwner {
  readonly #options: OriginConnectionsOptions;
  /** The most recently used connection is the last one. */
  readonly #idle: UpstreamConnection[] = [];
  readonly #open = new Set<UpstreamConnection>();
  readonly #waiting = new Set<Pending>();
  readonly #sessions = new TlsSessionCache();
  readonly #expiry = new IdleTimer(() => this.#dropOld());
  /** Number of connections that are being opened. */
  #dialing = 0;

  constructor(options: OriginConnectionsOptions) {
    this.#options = options;
  }

  /** Whether there is neither a connection nor a request. */
  get isUnused(): boolean {
    return this.#open.size + this.#dialing + this.#waiting.size === 0;
  }

  /**
   * Passes a connection to the waiter. Returns null if an idle connection was passed immediately, otherwise a function
   * that ends the wait.
   */
  request(waiter: ConnectionWaiter): (() => void) | null {
    const idle = popUsable(this.#idle);
    if (idle !== null) {
      waiter.connected(idle);
      return null;
    }
    const pending: Pending = { waiter, cancel: null };
    if (this.#open.size + this.#dialing < MAX_CONNECTIONS) this.#dial(pending);
    else this.#waiting.add(pending);
    return () => {
      this.#waiting.delete(pending);
      pending.cancel?.();
    };
  }

  /** Closes the idle connections, without calling listeners. */
  closeIdle(): void {
    for (const connection of this.#idle.splice(0)) connection.destroy();
  }

  release(connection: UpstreamConnection): void {
    const next = this.#options.keepAlive > 0 ? this.#nextWaiting() : undefined;
    if (next !== undefined) {
      next.waiter.connected(connection);
      return;
    }
    if (this.#maxIdleTimeOf(connection) <= 0 || this.#idle.length >= MAX_IDLE) {
      connection.destroy();
      return;
    }
    connection.idleSince = performance.now();
    this.#idle.push(connection);
    this.#dropOld();
  }

  drop(connection: UpstreamConnection): void {
    this.#open.delete(connection);
    const at = this.#idle.indexOf(connection);
    if (at >= 0) this.#idle.splice(at, 1);
    this.#dialNext();
  }

  /** Closes all connections, without calling their listeners. */
  close(): void {
    this.#expiry.close();
    for (const connection of this.#open) connection.destroy();
  }

  #nextWaiting(): Pending | undefined {
    const [next] = this.#waiting;
    if (next !== undefined) this.#waiting.delete(next);
    return next;
  }

  #dialNext(): void {
    const next = this.#nextWaiting();
    if (next !== undefined) this.#dial(next);
  }

  #dial(pending: Pending): void {
    const { connect, target } = this.#options;
    this.#dialing++;
    const listener = {
      connected: (connection: UpstreamConnection) => {
        this.#dialing--;
        pending.cancel = null;
        this.#open.add(connection);
        pending.waiter.connected(connection);
      },
      connectFailed: (error: Error) => {
        this.#dialing--;
        pending.cancel = null;
        pending.waiter.connectFailed(error);
        this.#dialNext();
      },
    };
    const cancel = dialConnection(target, listener, {
      connect,
      sessions: this.#sessions,
      owner: this,
      isGivenAway: false,
    });
    pending.cancel = () => {
      this.#dialing--;
      cancel();
      this.#dialNext();
    };
  }

  #maxIdleTimeOf(connection: UpstreamConnection): number {
    return Math.min(this.#options.keepAlive, connection.maxIdleTime);
  }

  /** Closes the connections that have been idle for as long as they may, and starts the timer for the next one. */
  #dropOld(): void {
    const now = performance.now();
    let next = Number.POSITIVE_INFINITY;
    for (const connection of [...this.#idle]) {
      const left = connection.idleSince + this.#maxIdleTimeOf(connection) - now;
      if (left > 0) next = Math.min(next, left);
      else {
        this.#idle.splice(this.#idle.indexOf(connection), 1);
        connection.destroy();
      }
    }
    if (next < Number.POSITIVE_INFINITY) this.#expiry.start(next, now);
  }
}
