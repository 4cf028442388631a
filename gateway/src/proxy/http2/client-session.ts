/** One client's connection of HTTP/2: many requests at a time, each on a stream of its own. */
import { constants, performServerHandshake, type ServerHttp2Session, type ServerHttp2Stream } from "node:http2";
import type { Socket } from "node:net";
import type { Peer } from "../http1/client-head.ts";
import type { ConnectionTerms } from "../http1/connection-context.ts";
import { Watchdog } from "../http1/watchdog.ts";
import { ClientStream, type StreamContext } from "./client-stream.ts";
import { clientSessionOptions, WINDOW_OF_CONNECTION } from "./limits.ts";
import { Turns } from "./stream-pace.ts";

export interface SessionContext extends StreamContext, ConnectionTerms {
  readonly onClose: (session: ClientSession) => void;
}

/** Milliseconds that a client has to close its side after we have closed ours. */
const CLOSING_LINGER = 2000;

export class ClientSession {
  readonly #context: SessionContext;
  readonly #socket: Socket;
  readonly #peer: Peer;
  readonly #session: ServerHttp2Session;
  readonly #streams = new Set<ServerHttp2Stream>();
  readonly #sending: Turns;
  readonly #taking: Turns;
  /** Runs while no request is under way. */
  readonly #idle = new Watchdog(() => this.#idled());
  #requests = 0;

  /** @param socket Of which nothing was read, or all was put back */
  constructor(context: SessionContext, socket: Socket, peer: Peer) {
    this.#context = context;
    this.#socket = socket;
    this.#peer = peer;
    this.#sending = new Turns(context.bodyPace, socket);
    this.#taking = new Turns(context.sendPace, socket);
    const session = performServerHandshake(socket, clientSessionOptions(context.limits));
    this.#session = session;
    session.setLocalWindowSize(WINDOW_OF_CONNECTION);
    session.on("stream", this.#onStream).on("error", () => {});
    // A client that ends its side is gone, as for HTTP/1.1.
    socket.once("end", () => socket.destroy());
    socket.once("close", this.#onClose);
    this.#idle.start(context.headersTimeout);
  }

  get isAnswering(): boolean {
    return this.#streams.size > 0;
  }

  /** Takes no more requests (GOAWAY), and ends when those under way have ended. */
  drain(): void {
    if (!this.#session.closed) this.#session.close();
    if (this.#streams.size === 0) this.#idle.start(CLOSING_LINGER);
  }

  destroy(): void {
    this.#session.destroy();
    this.#socket.destroy();
  }

  readonly #onStream = (
    stream: ServerHttp2Stream,
    _headers: object,
    flags: number,
    fields: readonly string[],
  ): void => {
    this.#idle.stop();
    this.#requests++;
    this.#streams.add(stream);
    stream.once("close", () => {
      this.#streams.delete(stream);
      if (this.#streams.size === 0) this.#rest();
    });
    this.#context.onRequest();
    const ended = (flags & constants.NGHTTP2_FLAG_END_STREAM) !== 0;
    const [sending, taking] = [this.#sending, this.#taking];
    new ClientStream(this.#context, { stream, fields, ended, peer: this.#peer, sending, taking });
    if (this.#requests >= this.#context.maxRequests) this.drain();
  };

  #rest(): void {
    const { closed, destroyed } = this.#session;
    this.#idle.start(closed || destroyed ? CLOSING_LINGER : this.#context.keepAliveTimeout);
  }

  #idled(): void {
    const isOver = this.#session.closed || this.#session.destroyed;
    if (isOver || this.#requests === 0) this.destroy();
    else this.drain();
  }

  readonly #onClose = (): void => {
    this.#idle.close();
    this.#context.onClose(this);
  };
}
