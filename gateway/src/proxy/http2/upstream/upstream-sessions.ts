/** Connections to HTTP/2 upstreams, each with concurrent requests. */
import { type ClientHttp2Session, connect as connectHttp2 } from "node:http2";
import type { Socket } from "node:net";
import { TLSSocket } from "node:tls";
import type { Runtime, UpstreamTarget } from "../../../compile/runtime.ts";
import type { Connect } from "../../../outbound/connect.ts";
import { IdleTimer } from "../../timers/idle-timer.ts";
import { dialTarget, TlsSessionCache } from "../../upstream/dial.ts";
import { unreadable } from "../../upstream/failure.ts";
import { TargetSweeper } from "../../upstream/target-sweeper.ts";
import { CONNECTION_WINDOW, upstreamSessionOptions } from "../limits.ts";

/** Receives the result of an attempt to open a session. */
export interface SessionWaiter {
  opened(session: UpstreamSession): void;
  refused(error: Error): void;
}

/** Concurrent requests per connection, even if the upstream allows more. */
const MOST_STREAMS = 128;
/** Maximum requests per connection, as for HTTP/1.1. */
const MOST_REQUESTS = 10_000;

export class UpstreamSession {
  readonly target: UpstreamTarget;
  readonly session: ClientHttp2Session;
  /** Requests sent on this connection so far. */
  requests = 0;
  #streams = 0;
  #isRetired = false;
  readonly #idle: IdleTimer;
  readonly #keepAlive: number;

  constructor(target: UpstreamTarget, session: ClientHttp2Session, keepAlive: number) {
    this.target = target;
    this.session = session;
    this.#keepAlive = keepAlive;
    this.#idle = new IdleTimer(() => this.retire());
    session.setLocalWindowSize(CONNECTION_WINDOW);
    session.once("close", () => this.#idle.close());
  }

  /** Whether another request can start now. */
  get hasRoom(): boolean {
    const most = Math.min(this.session.remoteSettings.maxConcurrentStreams ?? MOST_STREAMS, MOST_STREAMS);
    return this.isUsable && this.#streams < most;
  }

  get isUsable(): boolean {
    const { closed, destroyed } = this.session;
    return !closed && !destroyed && !this.#isRetired && this.requests < MOST_REQUESTS;
  }

  /**
   * Whether at most one request was sent so far. If so, a failure of this request does not mean that the connection was
   * stale.
   */
  get isFresh(): boolean {
    return this.requests <= 1;
  }

  begin(): void {
    this.requests++;
    this.#streams++;
    this.#idle.stop();
  }

  end(): void {
    this.#streams--;
    if (this.#streams > 0) return;
    if (this.isUsable) this.#idle.start(this.#keepAlive);
    else this.retire();
  }

  /** Accepts no more requests, and closes when those under way are over. */
  retire(): void {
    this.#isRetired = true;
    if (!this.session.closed && !this.session.destroyed) this.session.close();
  }
}

/** The connections to one target. */
interface Place {
  readonly target: UpstreamTarget;
  readonly open: Set<UpstreamSession>;
  /** Requests that wait for a connection that is being established. */
  readonly waiters: Set<SessionWaiter>;
  giveUp: (() => void) | null;
}

export interface UpstreamSessionsOptions {
  readonly connect: Connect;
  /** Milliseconds that an idle connection is kept. */
  readonly keepAlive: number;
}

export class UpstreamSessions {
  readonly #options: UpstreamSessionsOptions;
  /** Keyed by the target's key. */
  readonly #places = new Map<string, Place>();
  readonly #retirement = new TargetSweeper<Place>({
    kept: this.#places,
    drop: (_key, { open }) => {
      for (const session of open) session.retire();
    },
  });
  readonly #tlsSessions = new TlsSessionCache();
  #closed = false;

  constructor(options: UpstreamSessionsOptions) {
    this.#options = options;
  }

  /** Provides a connection, synchronously if one has room. Returns a function that cancels the wait for it. */
  open(target: UpstreamTarget, waiter: SessionWaiter): () => void {
    const place = this.#placeOf(target);
    for (const session of place.open) {
      if (!session.hasRoom) continue;
      waiter.opened(session);
      return () => {};
    }
    place.waiters.add(waiter);
    if (place.giveUp === null) this.#dial(place);
    return () => {
      place.waiters.delete(waiter);
      if (place.waiters.size > 0 || place.giveUp === null) return;
      place.giveUp();
      place.giveUp = null;
      this.#tidy(place);
    };
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
    this.#retirement.close();
    for (const { open, giveUp } of this.#places.values()) {
      giveUp?.();
      for (const { session } of open) session.destroy();
    }
  }

  #placeOf(target: UpstreamTarget): Place {
    const known = this.#places.get(target.key);
    if (known !== undefined) return known;
    const place: Place = { target, open: new Set(), waiters: new Set(), giveUp: null };
    this.#places.set(target.key, place);
    return place;
  }

  #dial(place: Place): void {
    const { connect } = this.#options;
    const refuse = (error: Error) => {
      place.giveUp = null;
      const waiters = [...place.waiters];
      place.waiters.clear();
      this.#tidy(place);
      for (const waiter of waiters) waiter.refused(error);
    };
    const connected = (socket: Socket) => {
      if (this.#closed) socket.destroy();
      else if (socket instanceof TLSSocket && socket.alpnProtocol !== "h2") {
        socket.destroy();
        refuse(unreadable("it is not HTTP/2"));
      } else this.#greet(place, socket, refuse);
    };
    place.giveUp = dialTarget(
      place.target,
      { connected, failed: refuse },
      { connect, sessions: this.#tlsSessions, protocol: "h2" },
    );
  }

  /** Waits for the peer's SETTINGS, which prove that it speaks HTTP/2 and contain its limits. */
  #greet(place: Place, socket: Socket, refuse: (error: Error) => void): void {
    const { scheme, host, port, connectTimeout: timeout } = place.target;
    const origin = new URL(`${scheme}://${host.includes(":") ? `[${host}]` : host}:${port}`);
    const session = connectHttp2(origin, { ...upstreamSessionOptions, createConnection: () => socket });
    const settle = () => {
      clearTimeout(timer);
      session.off("close", failed).off("remoteSettings", greeted);
    };
    const failed = () => {
      settle();
      refuse(unreadable("it is not HTTP/2"));
    };
    const greeted = () => {
      if (session.destroyed || session.closed) return;
      settle();
      place.giveUp = null;
      this.#serve(place, session);
    };
    const timer = setTimeout(() => session.destroy(), timeout);
    session
      .on("error", () => {})
      .once("close", failed)
      .once("remoteSettings", greeted);
    // A half-closed peer would otherwise count as usable.
    socket.once("end", () => session.destroy());
    place.giveUp = () => {
      settle();
      session.destroy();
    };
  }

  #serve(place: Place, session: ClientHttp2Session): void {
    const upstream = new UpstreamSession(place.target, session, this.#options.keepAlive);
    place.open.add(upstream);
    const leave = () => {
      place.open.delete(upstream);
      this.#tidy(place);
    };
    // The error is not reported here: each stream reports the outcome of its request.
    session.on("error", leave).on("goaway", leave).once("close", leave);
    for (const waiter of place.waiters) {
      if (!upstream.hasRoom) break;
      place.waiters.delete(waiter);
      waiter.opened(upstream);
    }
    if (place.waiters.size > 0) this.#dial(place);
  }

  #tidy(place: Place): void {
    if (place.open.size === 0 && place.waiters.size === 0) this.#places.delete(place.target.key);
  }
}
