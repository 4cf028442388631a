/** One exchange between an HTTP/1.1 client connection and an upstream: applies the pipeline's decisions. */
import type { Socket } from "node:net";
import type { DirectResponse } from "../../exchange/exchange.ts";
import type { GatewayErrorName } from "../../exchange/gateway-errors.ts";
import type { LiveExchange } from "../exchange/live-exchange.ts";
import type { AccessResult, Pipeline, ProxyLog } from "../pipeline.ts";
import { ByteView } from "../sockets/byte-view.ts";
import type { WriteQueue } from "../sockets/write-queue.ts";
import { logUpstreamFailure, type UpstreamFailure } from "../upstream/log-upstream-failure.ts";
import type { ClientHead } from "./client-head.ts";
import { NONE_DROPPED, passedLines } from "./head-text.ts";
import { headerOf } from "./parse/access.ts";
import type { FieldSection } from "./parse/fields.ts";
import { CHUNKED_BODY, UNTIL_CLOSE } from "./parse/framing.ts";
import type { ResponseHeadParser } from "./parse/response-head.ts";
import { type Framing, gatewayResponseText, type ResponseHeads } from "./response-text.ts";
import type { TunnelOptions } from "./tunnel.ts";
import { UpstreamCall, type UpstreamCallListener } from "./upstream/upstream-call.ts";
import type { UpstreamHeads } from "./upstream/upstream-head.ts";
import type { UpstreamPool } from "./upstream/upstream-pool.ts";

/** State shared by all exchanges of a listener. */
export interface Http1ExchangeContext {
  readonly pipeline: Pipeline;
  readonly pool: UpstreamPool;
  readonly log: ProxyLog;
  readonly upstreamHeads: UpstreamHeads<ClientHead>;
  readonly responseHeads: ResponseHeads;
  /** True while the listener drains: connections close after their response. */
  readonly draining: () => boolean;
}

/** The view of the client's connection that an exchange needs. */
export interface Http1ClientSide {
  readonly out: WriteQueue;
  /** Whether the connection can be reused after the response. */
  readonly mayGoOn: boolean;
  /**
   * The response has been written.
   *
   * @param now By `performance.now()`
   */
  answered(last: boolean, now?: number): void;
  /** The client reads more slowly than the response arrives. */
  full(): void;
  /** Destroys the connection. */
  destroy(): void;
  /** The connection becomes a tunnel. */
  join(tunnel: Omit<TunnelOptions, "client" | "account">): void;
}

export interface Http1ExchangeOptions {
  readonly exchange: LiveExchange;
  readonly head: ClientHead;
  /** Protocol that the client asks to upgrade to; null: none. */
  readonly protocol: string | null;
  readonly client: Http1ClientSide;
}

const NO_CONTENT = 204;
const NOT_MODIFIED = 304;
/** nginx's status for a client that disconnected before its response; visible to plugins only. */
const CLIENT_CLOSED = 499;

export class Http1Exchange implements UpstreamCallListener {
  readonly #context: Http1ExchangeContext;
  readonly #exchange: LiveExchange;
  readonly #head: ClientHead;
  readonly #protocol: string | null;
  readonly #client: Http1ClientSide;
  #call: UpstreamCall<ClientHead> | null = null;
  #begun = false;
  #chunked = false;
  #last = false;
  #ended = false;
  #over = false;

  constructor(context: Http1ExchangeContext, { exchange, head, protocol, client }: Http1ExchangeOptions) {
    this.#context = context;
    this.#exchange = exchange;
    this.#head = head;
    this.#protocol = protocol;
    this.#client = client;
  }

  run(): void {
    const outcome = this.#context.pipeline.access(this.#exchange);
    if (outcome instanceof Promise) {
      outcome.then((settled) => this.#take(settled)).catch((error: Error) => this.#bug(error));
    } else this.#take(outcome);
  }

  /** The client disconnected. */
  abort(): void {
    if (this.#over) return;
    this.#over = true;
    this.#head.body?.lose();
    this.#call?.abort();
    if (this.#exchange.status === 0) this.#exchange.status = CLIENT_CLOSED;
    this.#context.pipeline.finish(this.#exchange);
  }

  get isOver(): boolean {
    return this.#over;
  }

  /** The body is malformed or does not arrive: later bytes on the connection cannot be framed. */
  reject(fault: GatewayErrorName): void {
    if (this.#over) return;
    this.#call?.abort();
    if (this.#begun) this.#client.destroy();
    else {
      this.#last = true;
      this.#answer(fault);
    }
  }

  /** The client accepts data again. */
  drained(): void {
    this.#call?.resume();
  }

  interim(head: ResponseHeadParser): void {
    // The gateway sends 100 Continue itself; HTTP/1.0 has no interim responses.
    if (head.status === 100 || this.#head.httpVersion === "1.0") return;
    this.#client.out.text(this.#context.responseHeads.interim(head));
  }

  head(head: ResponseHeadParser): void {
    const { pipeline, responseHeads } = this.#context;
    const { status, bodyKind } = head;
    pipeline.respond(this.#exchange, status);
    const bodiless = this.#head.method === "HEAD" || status === NO_CONTENT || status === NOT_MODIFIED;
    const unsized = !bodiless && (bodyKind === CHUNKED_BODY || bodyKind === UNTIL_CLOSE);
    const isNewest = this.#head.httpVersion === "1.1";
    this.#begun = true;
    this.#chunked = unsized && isNewest;
    this.#settleLast(unsized && !isNewest);
    const trailers = this.#chunked && this.#exchange.request.takesTrailers;
    const connection = this.#connection();
    this.#client.out.text(
      responseHeads.response(this.#exchange, { head, connection, chunked: this.#chunked, trailers }),
    );
  }

  data(view: ByteView): void {
    const { out } = this.#client;
    if (!this.#chunked) out.bytes(view);
    else {
      out.text(`${view.length.toString(16)}\r\n`);
      out.bytes(view);
      out.text("\r\n");
    }
  }

  end(trailers: FieldSection | null): void {
    if (this.#chunked) {
      const lines =
        trailers !== null && this.#exchange.request.takesTrailers ? passedLines(trailers, NONE_DROPPED, null) : "";
      this.#client.out.text(`0\r\n${lines}\r\n`);
    }
    this.#ended = true;
  }

  flush(): boolean {
    const isTaken = this.#client.out.flush();
    if (!isTaken && !this.#ended) this.#client.full();
    if (this.#ended && !this.#over) this.#finish();
    return isTaken;
  }

  upgraded(head: ResponseHeadParser, socket: Socket, first: Buffer): void {
    const { pipeline, responseHeads } = this.#context;
    pipeline.respond(this.#exchange, head.status);
    const protocol = headerOf(head.fields, "upgrade") ?? "";
    const connection: Framing = `Connection: Upgrade\r\nUpgrade: ${protocol}\r\n`;
    const { out } = this.#client;
    out.text(responseHeads.response(this.#exchange, { head, connection, chunked: false, trailers: false }));
    if (first.length > 0) out.bytes(ByteView.of(first));
    out.flush();
    this.#over = true;
    this.#client.join({
      upstream: socket,
      silence: this.#exchange.service?.read_timeout ?? 0,
      onClose: () => {
        this.#call?.done();
        pipeline.finish(this.#exchange);
      },
    });
  }

  failed(fault: GatewayErrorName, error: Error | null): void {
    this.#report(error, "failed");
    this.#answer(fault);
  }

  /** Destroys the client's connection, so that the client cannot mistake the partial response for a complete one. */
  broken(error: Error): void {
    this.#report(error, "broke off its response");
    this.#client.out.flush();
    this.#client.destroy();
  }

  #take(outcome: AccessResult): void {
    if (this.#over) return;
    if (outcome.forward === undefined) {
      this.#answer(outcome.answer);
      return;
    }
    const { pool, upstreamHeads } = this.#context;
    this.#call = new UpstreamCall({
      exchange: this.#exchange,
      head: this.#head,
      forward: outcome.forward,
      protocol: this.#protocol,
      pool,
      heads: upstreamHeads,
      listener: this,
    });
    this.#call.start();
  }

  #answer(answer: DirectResponse | GatewayErrorName): void {
    if (this.#over || this.#begun) return;
    this.#begun = true;
    const own = this.#context.pipeline.answer(this.#exchange, answer);
    this.#settleLast(false);
    const text = gatewayResponseText(own, { connection: this.#connection(), bodiless: this.#head.method === "HEAD" });
    this.#client.out.text(text);
    this.#client.out.flush();
    this.#finish();
  }

  #settleLast(untilClose: boolean): void {
    this.#last ||= untilClose || this.#protocol !== null || !this.#client.mayGoOn || this.#context.draining();
  }

  #connection(): Framing {
    return this.#last ? "Connection: close\r\n" : "Connection: keep-alive\r\n";
  }

  #finish(): void {
    this.#over = true;
    this.#context.pipeline.finish(this.#exchange);
    this.#client.answered(this.#last, this.#exchange.timings.ended);
  }

  /** Reached only through a bug: clients and upstreams cannot cause it. */
  #bug(error: Error): void {
    this.#context.log.error({ err: error, requestId: this.#exchange.id }, "the proxy failed");
    this.#client.destroy();
  }

  #report(error: Error | null, what: UpstreamFailure["what"]): void {
    logUpstreamFailure(this.#context.log, { exchange: this.#exchange, error, what });
  }
}
