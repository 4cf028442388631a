/** One HTTP/2 client connection: concurrent requests, each on its own stream. */
import { constants, performServerHandshake, type ServerHttp2Session, type ServerHttp2Stream } from "node:http2";
import type { Socket } from "node:net";
import type { ClientConnectionLimits, ConnectionPeer } from "../client/open-connection.ts";
import type { ClientMemory, MemoryAccount } from "../listener/client-memory.ts";
import { IdleTimer } from "../timers/idle-timer.ts";
import { ConnectionActivity } from "../timers/stream-min-rate-timer.ts";
import { ClientStream, type StreamContext } from "./client-stream.ts";
import { sizeOf } from "./fields.ts";
import { CONNECTION_BYTES, CONNECTION_WINDOW, clientSessionOptions, MAX_STREAMS, STREAM_BYTES } from "./limits.ts";
import { SessionCheck } from "./session-check.ts";

export interface ClientSessionContext extends StreamContext, ClientConnectionLimits {
  readonly memory: ClientMemory;
  readonly onClose: (session: ClientSession) => void;
}

/** Milliseconds within which a client must close its side after the gateway closed its own. */
const CLOSING_LINGER = 2000;

export class ClientSession {
  readonly #context: ClientSessionContext;
  readonly #socket: Socket;
  readonly #peer: ConnectionPeer;
  readonly #session: ServerHttp2Session;
  readonly #streams = new Set<ServerHttp2Stream>();
  readonly #sending: ConnectionActivity;
  readonly #taking: ConnectionActivity;
  readonly #account: MemoryAccount;
  readonly #check: SessionCheck;
  /** Runs while no request is under way. */
  readonly #idle = new IdleTimer(() => this.#idled());
  #requests = 0;
  /** Whether the client was sent a lower limit of concurrent streams. */
  #isNarrow = false;

  /** @param socket A socket from which nothing was read, or whose bytes were all unshifted back */
  constructor(context: ClientSessionContext, socket: Socket, peer: ConnectionPeer) {
    this.#context = context;
    this.#socket = socket;
    this.#peer = peer;
    this.#sending = new ConnectionActivity(context.bodyPace, socket);
    this.#taking = new ConnectionActivity(context.sendPace, socket);
    const session = performServerHandshake(socket, clientSessionOptions(context.limits));
    this.#session = session;
    session.setLocalWindowSize(CONNECTION_WINDOW);
    this.#check = new SessionCheck({ session, socket, probeInterval: context.probeInterval });
    this.#account = context.memory.account(() => this.#closeCostly());
    session
      .on("stream", this.#onStream)
      .on("localSettings", this.#widen)
      .on("error", () => {});
    // A client that half-closes is treated as gone, as in HTTP/1.1.
    socket.once("end", () => socket.destroy());
    socket.once("close", this.#onClose);
    this.#idle.start(context.headersTimeout);
    // Deferred: in the next tick Node consumes the unshifted bytes, and throws if the session has been destroyed by
    // then.
    if (!this.#account.admit(CONNECTION_BYTES)) setImmediate(() => this.#closeCostly());
  }

  get isAnswering(): boolean {
    return this.#streams.size > 0;
  }

  /** Accepts no more requests (GOAWAY), and closes when those under way have ended. */
  drain(): void {
    if (!this.#session.closed) this.#session.close();
    if (this.#streams.size === 0) this.#idle.start(CLOSING_LINGER);
  }

  /**
   * Called periodically.
   *
   * @param now By `performance.now()`
   */
  checkLiveness(now: number): void {
    // A client with unread response data is covered by the minimum send rate instead.
    const expects = this.#streams.size > 0 && this.#account.waiting === 0;
    const fault = this.#check.faultAt(expects, now);
    if (fault === "flood") this.#closeCostly();
    else if (fault === "vanished") this.destroy();
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
    const size = sizeOf(fields);
    this.#check.came(size);
    const bytes = STREAM_BYTES + size;
    const account = this.#account;
    if (!account.admit(bytes)) {
      this.#refuse(stream);
      return;
    }
    this.#idle.stop();
    this.#requests++;
    this.#streams.add(stream);
    stream.once("close", () => {
      this.#streams.delete(stream);
      account.release(bytes);
      this.#widen();
      if (this.#streams.size === 0) this.#rest();
    });
    this.#context.onRequest();
    const ended = (flags & constants.NGHTTP2_FLAG_END_STREAM) !== 0;
    const [sending, taking] = [this.#sending, this.#taking];
    const memory = { account, bytes };
    const facts = { stream, fields, size, ended, peer: this.#peer, sending, taking, memory, check: this.#check };
    new ClientStream(this.#context, facts);
    if (this.#requests >= this.#context.maxRequests) this.drain();
  };

  /**
   * Refuses a stream for lack of memory; the client may retry (RFC 9113 section 8.7). Refusing a stream in JavaScript
   * costs as much time and memory as answering it. The client therefore receives a lower stream limit, and nghttp2
   * refuses streams beyond it at a hundredth of that cost.
   */
  #refuse(stream: ServerHttp2Stream): void {
    stream.on("error", () => {}).close(constants.NGHTTP2_REFUSED_STREAM);
    if (this.#isNarrow || !this.#isOpen) return;
    this.#isNarrow = true;
    this.#session.settings({ maxConcurrentStreams: Math.max(this.#streams.size, 1) });
  }

  /** Restores the usual limit when memory is available and the client has acknowledged the lower one. */
  readonly #widen = (): void => {
    if (!this.#isNarrow || !this.#isOpen || this.#session.pendingSettingsAck || this.#context.memory.isShort) return;
    this.#isNarrow = false;
    this.#session.settings({ maxConcurrentStreams: MAX_STREAMS });
  };

  get #isOpen(): boolean {
    return !this.#session.closed && !this.#session.destroyed;
  }

  /** Closes the connection: its client uses too many resources. */
  #closeCostly(): void {
    this.#session.destroy(undefined, constants.NGHTTP2_ENHANCE_YOUR_CALM);
    this.#idle.start(CLOSING_LINGER);
  }

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
    this.#account.close();
    this.#context.onClose(this);
  };
}
