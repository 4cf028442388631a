/**
 * The upstream side of one exchange: tries targets until one responds, sends the request, and forwards the response.
 */
import type { Socket } from "node:net";
import type { TargetAttempts } from "../../../balance/target-attempts.ts";
import type { UpstreamTarget } from "../../../compile/runtime.ts";
import type { GatewayErrorName } from "../../../exchange/gateway-errors.ts";
import type { BodySink, ClientBody } from "../../client/client-body.ts";
import type { ForwardPlan, LiveExchange } from "../../exchange/live-exchange.ts";
import { ByteView } from "../../sockets/byte-view.ts";
import {
  failureSignalOf,
  gatewayErrorFor,
  isUnreachable,
  mayRetry,
  readTimeout,
  writeTimeout,
} from "../../upstream/failure.ts";
import type { FieldSection } from "../parse/fields.ts";
import type { ResponseHeadParser } from "../parse/response-head.ts";
import type { Http1ResponseListener, UpstreamConnection } from "./upstream-connection.ts";
import type { UpstreamHeads } from "./upstream-head.ts";
import type { ConnectionWaiter, UpstreamPool } from "./upstream-pool.ts";

/** Receives the response. Heads, fields and pieces of text are valid only during the call. */
export interface UpstreamCallListener {
  interim(head: ResponseHeadParser): void;
  head(head: ResponseHeadParser): void;
  /** Bytes of the body. */
  data(view: ByteView): void;
  end(trailers: FieldSection | null): void;
  /** Called after all events of one read. Returns false when no more data may follow before `resume`. */
  flush(): boolean;
  upgraded(head: ResponseHeadParser, socket: Socket, first: Buffer): void;
  /** No response will come. */
  failed(fault: GatewayErrorName, error: Error | null): void;
  /** The response broke off after its head. */
  broken(error: Error): void;
}

/** The parts of the client's head that a call uses. */
export interface UpstreamCallHead {
  readonly body: ClientBody | null;
}

export interface UpstreamCallOptions<Head extends UpstreamCallHead> {
  readonly exchange: LiveExchange;
  readonly head: Head;
  readonly forward: ForwardPlan;
  /** Protocol that the client asks to upgrade to; null: none. */
  readonly protocol: string | null;
  readonly pool: UpstreamPool;
  readonly heads: UpstreamHeads<Head>;
  readonly listener: UpstreamCallListener;
}

const WAITING = 0;
const ANSWERED = 1;
const OVER = 2;

/** @typeParam Head Type of the client's head, as `heads` expects it */
export class UpstreamCall<Head extends UpstreamCallHead> implements Http1ResponseListener, BodySink, ConnectionWaiter {
  readonly #options: UpstreamCallOptions<Head>;
  readonly #body: ClientBody | null;
  readonly #attempts: TargetAttempts<UpstreamTarget>;
  #connection: UpstreamConnection | null = null;
  #target: UpstreamTarget | null = null;
  #giveUp: (() => void) | null = null;
  #triesLeft: number;
  #state = WAITING;
  /** Whether the client is still sending its body. */
  #sending = false;
  #paused = false;
  /** A reused idle connection was already closed: other idle ones may be as old, so the retry opens a new one. */
  #wantsFresh = false;

  constructor(options: UpstreamCallOptions<Head>) {
    this.#options = options;
    this.#body = options.head.body;
    const { upstream } = options.forward;
    this.#attempts = upstream.attempts(options.exchange);
    this.#triesLeft = upstream.service.retries;
  }

  start(): void {
    const { exchange, forward, pool, protocol } = this.#options;
    const target = this.#attempts.next();
    exchange.beginTry(target, forward);
    this.#connection = null;
    this.#target = target;
    if (target === null) {
      this.#end();
      this.#options.listener.failed("noPeer", null);
      return;
    }
    // A tunnel consumes its connection.
    const kept = protocol !== null || this.#wantsFresh ? null : pool.take(target);
    if (kept !== null) this.connected(kept, exchange.timings.forwarded);
    else this.#giveUp = pool.connect(target, this, protocol !== null);
  }

  /** @param now By `performance.now()` */
  connected(connection: UpstreamConnection, now?: number): void {
    this.#giveUp = null;
    const { exchange, head, forward, protocol, heads } = this.#options;
    this.#connection = connection;
    // Not the connection's target: targets that share connections may differ in their Host header.
    const target = this.#target ?? connection.target;
    const text = heads(exchange, { forward, head, target, protocol });
    connection.begin(text, { method: forward.method, protocol, listener: this });
    const body = this.#body;
    this.#sending = body !== null && body.whole === null;
    if (body?.whole) connection.write(ByteView.of(body.whole));
    if (!this.#sending) connection.sent();
    this.#touch(now);
    // The head is written together with the part of the body that has arrived.
    if (this.#sending) body?.forwardTo(this);
    connection.flush();
  }

  connectFailed(error: Error): void {
    this.#giveUp = null;
    this.failed(error);
  }

  /** The client accepts data again. */
  resume(): void {
    if (!this.#paused) return;
    this.#paused = false;
    this.#touch();
    this.#connection?.resume();
  }

  /** The client disconnected: the upstream's connection is closed too. */
  abort(): void {
    if (this.#state === OVER) return;
    this.#end();
    this.#giveUp?.();
    this.#connection?.destroy();
  }

  take(view: ByteView): void {
    const connection = this.#connection;
    if (connection === null) return;
    if (this.#body?.length === null) {
      connection.writeText(`${view.length.toString(16)}\r\n`);
      connection.write(view);
      connection.writeText("\r\n");
    } else connection.write(view);
  }

  send(): boolean {
    const connection = this.#connection;
    if (connection === null || connection.flush()) return true;
    connection.stall.start(this.#options.forward.upstream.service.write_timeout);
    return false;
  }

  finish(trailers: string): void {
    const connection = this.#connection;
    this.#sending = false;
    if (connection === null) return;
    if (this.#body?.length === null) {
      connection.writeText(`0\r\n${this.#options.exchange.forwardedTrailers(trailers)}\r\n`);
    }
    connection.sent();
    connection.flush();
    this.#touch();
  }

  drained(): void {
    this.#connection?.stall.stop();
    if (this.#sending) this.#body?.drained();
  }

  /** Does not restart the read timeout: an upstream could send interim responses forever. */
  interim(head: ResponseHeadParser): void {
    this.#options.listener.interim(head);
  }

  head(head: ResponseHeadParser): void {
    this.#state = ANSWERED;
    this.#attempts.answered(head.status, this.#target);
    this.#options.listener.head(head);
  }

  data(view: ByteView): void {
    this.#options.listener.data(view);
  }

  flush(): boolean {
    if (this.#state === ANSWERED) this.#touch();
    this.#paused = !this.#options.listener.flush();
    return !this.#paused;
  }

  end(trailers: FieldSection | null): void {
    this.#end();
    this.#options.listener.end(trailers);
  }

  upgraded(head: ResponseHeadParser, socket: Socket, first: Buffer): void {
    this.#attempts.answered(head.status, this.#target);
    this.#state = OVER;
    this.#options.listener.upgraded(head, socket, first);
  }

  /** A tunnel has ended; it counted as a connection of its target until now. */
  done(): void {
    this.#attempts.endTry();
  }

  failed(error: Error): void {
    if (this.#state === OVER) return;
    const isAnswered = this.#state === ANSWERED;
    if (!isAnswered && this.#retries(error)) return;
    this.#end();
    const { listener } = this.#options;
    if (isAnswered) listener.broken(error);
    else listener.failed(gatewayErrorFor(error), error);
  }

  #retries(error: Error): boolean {
    const { exchange, forward } = this.#options;
    exchange.observer?.failed?.(exchange, error);
    const connected = this.#connection !== null;
    const fresh = this.#connection?.isFresh ?? true;
    const sign = failureSignalOf({ error, connected, fresh });
    if (sign !== null) this.#attempts.failed(sign);
    if (isUnreachable({ error, connected })) this.#attempts.unreachable(this.#target);
    const bodyBegun = this.#body?.begun ?? false;
    const { hasOtherTarget } = this.#attempts;
    if (this.#triesLeft <= 0) return false;
    if (!mayRetry({ error, connected, method: forward.method, bodyBegun, hasOtherTarget })) return false;
    this.#triesLeft--;
    this.#body?.hold();
    this.#wantsFresh = connected && !fresh;
    setImmediate(() => {
      if (this.#state === WAITING) this.start();
    });
    return true;
  }

  /** While the client still sends, or does not read, the upstream's silence is not an error. */
  silent(): void {
    if ((this.#state === WAITING && this.#sending) || this.#paused) this.#touch();
    else this.#fail(readTimeout());
  }

  stalled(): void {
    this.#fail(writeTimeout());
  }

  /** Data was received or written: restarts the timeout. */
  #touch(now?: number): void {
    this.#connection?.silence.start(this.#options.forward.upstream.service.read_timeout, now);
  }

  #fail(error: Error): void {
    this.#connection?.destroy();
    this.failed(error);
  }

  #end(): void {
    this.#state = OVER;
    this.#attempts.endTry();
  }
}
