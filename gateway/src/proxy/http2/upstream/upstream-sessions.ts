/** Connections to HTTP/2 upstreams, each with concurrent requests. */
import type { Socket } from "node:net";
import { TLSSocket } from "node:tls";
import type { Runtime, UpstreamTarget } from "../../../compile/runtime.ts";
import type { Connect } from "../../../outbound/connect.ts";
import { ReadBuffer } from "../../sockets/read-buffer.ts";
import { dialTarget, TlsSessionCache } from "../../upstream/dial.ts";
import { unreadable } from "../../upstream/failure.ts";
import { TargetSweeper } from "../../upstream/target-sweeper.ts";
import { ResponseCollector } from "./response-collector.ts";
import { UpstreamSession, type UpstreamSessionOwner } from "./upstream-session.ts";

/** Receives the result of an attempt to open a session. */
export interface SessionWaiter {
  opened(session: UpstreamSession): void;
  refused(error: Error): void;
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
      for (const session of [...open]) session.retire();
    },
  });
  readonly #tlsSessions = new TlsSessionCache();
  readonly #collector = new ResponseCollector();
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
      for (const session of [...open]) session.destroy();
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
    const inlet = new ReadBuffer({ isTls: place.target.scheme === "https" });
    const connected = (socket: Socket) => {
      if (this.#closed) socket.destroy();
      else if (socket instanceof TLSSocket && socket.alpnProtocol !== "h2") {
        socket.destroy();
        this.#refuse(place, unreadable("it is not HTTP/2"));
      } else this.#greet(place, socket, inlet);
    };
    place.giveUp = dialTarget(
      place.target,
      { connected, failed: (error) => this.#refuse(place, error) },
      { connect, sessions: this.#tlsSessions, protocol: "h2", onread: inlet.onread },
    );
  }

  /** Waits for the peer's SETTINGS, which prove that it speaks HTTP/2 and contain its limits. */
  #greet(place: Place, socket: Socket, inlet: ReadBuffer): void {
    let isWaiting = true;
    const settle = () => {
      isWaiting = false;
      clearTimeout(timer);
    };
    const owner: UpstreamSessionOwner = {
      greeted: (session) => {
        settle();
        place.giveUp = null;
        place.open.add(session);
        this.#serve(place, session);
      },
      available: (session) => this.#serveWaiters(place, session),
      left: (session) => {
        place.open.delete(session);
        this.#tidy(place);
        if (!isWaiting) return;
        settle();
        this.#refuse(place, unreadable("it is not HTTP/2"));
      },
    };
    const { keepAlive } = this.#options;
    const session = new UpstreamSession(place.target, socket, { collector: this.#collector, inlet, keepAlive, owner });
    const timer = setTimeout(() => session.destroy(), place.target.connectTimeout);
    place.giveUp = () => {
      settle();
      session.destroy();
    };
  }

  #serve(place: Place, session: UpstreamSession): void {
    if (!session.hasRoom && place.waiters.size > 0) {
      session.retire();
      this.#refuse(place, unreadable("it permits no requests (SETTINGS_MAX_CONCURRENT_STREAMS is 0)"));
      return;
    }
    this.#serveWaiters(place, session);
    if (place.waiters.size > 0) this.#dial(place);
  }

  #serveWaiters(place: Place, session: UpstreamSession): void {
    for (const waiter of place.waiters) {
      if (!session.hasRoom) break;
      place.waiters.delete(waiter);
      waiter.opened(session);
    }
  }

  #refuse(place: Place, error: Error): void {
    place.giveUp = null;
    const waiters = [...place.waiters];
    place.waiters.clear();
    this.#tidy(place);
    for (const waiter of waiters) waiter.refused(error);
  }

  #tidy(place: Place): void {
    const { key } = place.target;
    const isUnused = place.open.size === 0 && place.waiters.size === 0 && place.giveUp === null;
    // The last connection of an earlier place may close when the target has another place already.
    if (isUnused && this.#places.get(key) === place) this.#places.delete(key);
  }
}
