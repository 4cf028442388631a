/** One exchange with an HTTP/1.1 upstream: sends the request on a pooled connection, and passes the response on. */
import type { Socket } from "node:net";
import type { UpstreamTarget } from "../../../compile/runtime.ts";
import { ByteView } from "../../sockets/byte-view.ts";
import { UpstreamCall, type UpstreamCallListener, type UpstreamCallOptions } from "../../upstream/upstream-call.ts";
import type { FieldSection } from "../parse/fields.ts";
import type { ResponseHeadParser } from "../parse/response-head.ts";
import type { ConnectionWaiter, Http1ResponseListener, UpstreamConnection } from "./upstream-connection.ts";
import type { UpstreamHeads } from "./upstream-head.ts";
import type { UpstreamPool } from "./upstream-pool.ts";

export interface Http1CallListener extends UpstreamCallListener<ResponseHeadParser, FieldSection> {
  /** Absent: no upgrade is requested. */
  upgraded?(head: ResponseHeadParser, socket: Socket, first: Buffer): void;
}

export interface Http1CallOptions extends UpstreamCallOptions<Http1CallListener> {
  /** Protocol that the client asks to upgrade to; null: none. */
  readonly protocol: string | null;
  /** The Sec-WebSocket-Accept that the upstream must send. Default: the client checks it. */
  readonly accept?: string;
  readonly pool: UpstreamPool;
  readonly upstreamHeads: UpstreamHeads;
}

export class Http1Call extends UpstreamCall<Http1CallListener> implements Http1ResponseListener, ConnectionWaiter {
  readonly #options: Http1CallOptions;
  #connection: UpstreamConnection | null = null;
  #giveUp: (() => void) | null = null;

  constructor(options: Http1CallOptions) {
    super(options);
    this.#options = options;
  }

  protected override open(target: UpstreamTarget): void {
    const { pool, protocol } = this.#options;
    this.#connection = null;
    // A request that may become a tunnel opens a connection of its own.
    const kept = protocol !== null || this.wantsFresh ? null : pool.takeIdle(target);
    if (kept !== null) this.connected(kept, this.exchange.timings.forwarded);
    else this.#giveUp = pool.connect(target, this, protocol !== null);
  }

  /** @param now By `performance.now()` */
  connected(connection: UpstreamConnection, now?: number): void {
    this.#giveUp = null;
    this.#connection = connection;
    const { protocol, accept, upstreamHeads } = this.#options;
    // Not the connection's target: targets that share connections may differ in their Host header.
    const target = this.target ?? connection.target;
    const text = upstreamHeads(this.exchange, { forward: this.forward, target, protocol });
    connection.begin(text, { method: this.forward.method, protocol, accept, listener: this });
    const { body } = this;
    this.isSending = body !== null && body.whole === null;
    if (body?.whole) connection.write(ByteView.of(body.whole));
    if (!this.isSending) connection.sent();
    this.restartSilenceTimer(now);
    // The head is written together with the part of the body that has arrived.
    if (this.isSending) body?.forwardTo(this);
    connection.flush();
  }

  connectFailed(error: Error): void {
    this.#giveUp = null;
    this.failed(error);
  }

  protected override get carrier(): UpstreamConnection | null {
    return this.#connection;
  }

  protected override get timers(): UpstreamConnection | null {
    return this.#connection;
  }

  protected override resumeReading(): void {
    this.#connection?.resume();
  }

  protected override cancel(): void {
    this.#giveUp?.();
    this.#connection?.destroy();
  }

  override writeBody(view: ByteView): void {
    const connection = this.#connection;
    if (connection === null) return;
    if (this.body?.length === null) {
      connection.writeText(`${view.length.toString(16)}\r\n`);
      connection.write(view);
      connection.writeText("\r\n");
    } else connection.write(view);
  }

  override flushBody(): boolean {
    const connection = this.#connection;
    if (connection === null || connection.flush()) return true;
    this.startStall();
    return false;
  }

  override endBody(trailers: string): void {
    const connection = this.#connection;
    this.isSending = false;
    if (connection === null) return;
    if (this.body?.length === null) {
      connection.writeText(`0\r\n${this.exchange.forwardedTrailers(trailers)}\r\n`);
    }
    connection.sent();
    connection.flush();
    this.restartSilenceTimer();
  }

  /** Does not restart the read timeout, which an upstream could otherwise extend with interim responses. */
  interim(head: ResponseHeadParser): void {
    this.listener.interim(head);
  }

  head(head: ResponseHeadParser): void {
    if (this.beginResponse(head.status)) this.listener.head(head);
  }

  data(view: ByteView): void {
    this.listener.data(view);
  }

  flush(): boolean {
    if (this.isAnswered) this.restartSilenceTimer();
    this.isPaused = !this.listener.flush();
    return !this.isPaused;
  }

  end(trailers: FieldSection | null): void {
    this.settle();
    this.listener.end(trailers);
  }

  upgraded(head: ResponseHeadParser, socket: Socket, first: Buffer): void {
    this.beginResponse(head.status);
    this.handOver();
    this.listener.upgraded?.(head, socket, first);
  }
}
