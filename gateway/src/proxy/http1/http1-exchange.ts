/** One exchange with an HTTP/1.1 client: writes the response to its connection. */
import type { Socket } from "node:net";
import type { DirectResponse } from "@sluice/plugin-sdk";
import type { GatewayErrorName } from "../../exchange/gateway-errors.ts";
import type { ClientConnectionLimits, OpenConnection } from "../client/open-connection.ts";
import { EngineExchange, type EngineExchangeContext } from "../exchange/engine-exchange.ts";
import type { ForwardPlan, LiveExchange } from "../exchange/live-exchange.ts";
import { StreamCall } from "../http2/upstream/stream-call.ts";
import type { UpstreamSessions } from "../http2/upstream/upstream-sessions.ts";
import type { ClientMemory } from "../listener/client-memory.ts";
import type { BodyFraming } from "../response/filtered-response.ts";
import type { GatewayResponse } from "../response/gateway-response.ts";
import { pluginListener } from "../response/suspended-response.ts";
import { ByteView } from "../sockets/byte-view.ts";
import type { WriteQueue } from "../sockets/write-queue.ts";
import { NONE_DROPPED, passedLines } from "./head-text.ts";
import { type FieldSection, headerOf, passedFields } from "./parse/fields.ts";
import { CHUNKED_BODY, UNTIL_CLOSE } from "./parse/framing.ts";
import type { HeadLimits } from "./parse/head-parser.ts";
import type { ResponseHeadParser } from "./parse/response-head.ts";
import { type Framing, gatewayResponseHead, type ResponseHeads } from "./response-text.ts";
import { TranslatedResponse } from "./translated-response.ts";
import type { TunnelOptions } from "./tunnel.ts";
import { Http1Call, type Http1CallListener } from "./upstream/http1-call.ts";
import type { UpstreamHeads } from "./upstream/upstream-head.ts";
import type { UpstreamPool } from "./upstream/upstream-pool.ts";

export interface Http1ExchangeContext extends EngineExchangeContext {
  readonly pool: UpstreamPool;
  readonly upstreamHeads: UpstreamHeads;
  readonly responseHeads: ResponseHeads;
  /** Connections to HTTP/2 upstreams; null: the engine has none. */
  readonly sessions: UpstreamSessions | null;
  /** True while the listener drains: connections close after their response. */
  readonly draining: () => boolean;
}

/** State shared by all client connections of a listener. */
export interface ConnectionContext extends Http1ExchangeContext, ClientConnectionLimits {
  readonly limits: HeadLimits;
  readonly memory: ClientMemory;
  readonly onClose: (connection: OpenConnection) => void;
}

/** The view of the client's connection that an exchange needs. */
export interface Http1ClientSide {
  readonly out: WriteQueue;
  /** Whether the connection can be reused after the response. */
  readonly mayGoOn: boolean;
  /**
   * Called when the response has been written.
   *
   * @param now By `performance.now()`
   */
  responseWritten(last: boolean, now?: number): void;
  /** Called when the client reads more slowly than the response arrives. */
  full(): void;
  /** Destroys the connection. */
  destroy(): void;
  /** Turns the connection into a tunnel. */
  join(tunnel: Omit<TunnelOptions, "client" | "account">): void;
}

export interface Http1ExchangeOptions {
  readonly exchange: LiveExchange;
  /** Protocol that the client asks to upgrade to; null: none. */
  readonly protocol: string | null;
  readonly client: Http1ClientSide;
}

export class Http1Exchange
  extends EngineExchange<Http1ExchangeContext, Http1Call | StreamCall>
  implements Http1CallListener
{
  readonly #protocol: string | null;
  readonly #client: Http1ClientSide;
  #chunked = false;
  #last = false;
  #ended = false;

  constructor(context: Http1ExchangeContext, { exchange, protocol, client }: Http1ExchangeOptions) {
    super(context, exchange);
    this.#protocol = protocol;
    this.#client = client;
  }

  /** Also closes the connection, because the start of the next request is unknown. */
  override reject(answer: DirectResponse | GatewayErrorName): void {
    this.#last = true;
    super.reject(answer);
  }

  get reachesGrpc(): boolean {
    return this.context.sessions !== null;
  }

  interim(head: ResponseHeadParser): void {
    // The gateway sends 100 Continue itself; HTTP/1.0 has no interim responses.
    if (head.status === 100 || this.exchange.request.head.httpVersion === "1.0") return;
    this.#client.out.text(this.context.responseHeads.interim(head));
  }

  head(head: ResponseHeadParser): void {
    this.respond(head);
    this.sendHead(head);
  }

  respond(head: ResponseHeadParser): boolean {
    this.context.pipeline.respond(this.exchange, head);
    return true;
  }

  copyOf(head: ResponseHeadParser): ResponseHeadParser {
    return head.copy();
  }

  sendHead(head: ResponseHeadParser, framing: BodyFraming = framingOf(head)): void {
    const { responseHeads } = this.context;
    const unsized = framing === "unsized" && !this.isBodiless(head.status);
    const isNewest = this.exchange.request.head.httpVersion === "1.1";
    this.hasBegun = true;
    this.#chunked = unsized && isNewest;
    this.#settleLast(unsized && !isNewest);
    const trailers = this.#chunked && this.exchange.request.takesTrailers;
    const connection = this.#connection();
    const text = responseHeads.response(this.exchange, { head, connection, chunked: this.#chunked, trailers });
    if (this.exchange.chain.hasLog) this.exchange.sentHead = text;
    this.#client.out.text(text);
  }

  data(view: ByteView): void {
    if (this.dropsBody) return;
    const { out } = this.#client;
    if (!this.#chunked) out.bytes(view);
    else {
      out.text(`${view.length.toString(16)}\r\n`);
      out.bytes(view);
      out.text("\r\n");
    }
  }

  fieldsOf(trailers: FieldSection): readonly string[] {
    return passedFields(trailers);
  }

  copyOfTrailers(trailers: FieldSection): FieldSection {
    return trailers.copy();
  }

  end(trailers: FieldSection | null): void {
    if (this.#chunked) {
      const lines =
        trailers !== null && this.exchange.request.takesTrailers ? passedLines(trailers, NONE_DROPPED, null) : "";
      this.#client.out.text(`0\r\n${lines}\r\n`);
    }
    this.#ended = true;
  }

  flush(): boolean {
    const isTaken = this.#client.out.flush();
    if (!isTaken && !this.#ended) this.#client.full();
    if (this.#ended) this.finish();
    return isTaken;
  }

  upgraded(head: ResponseHeadParser, socket: Socket, first: Buffer): void {
    const { pipeline, responseHeads } = this.context;
    pipeline.respond(this.exchange, head);
    const protocol = headerOf(head.fields, "upgrade") ?? "";
    const connection: Framing = `Connection: Upgrade\r\nUpgrade: ${protocol}\r\n`;
    const { out } = this.#client;
    const text = responseHeads.response(this.exchange, { head, connection, chunked: false, trailers: false });
    if (this.exchange.chain.hasLog) this.exchange.sentHead = text;
    out.text(text);
    const upstream = this.inspected(socket, first);
    if (first.length > 0 && upstream === socket) out.bytes(ByteView.of(first));
    out.flush();
    this.handOver();
    this.#client.join({
      upstream,
      silence: this.exchange.service?.read_timeout ?? 0,
      onClose: () => {
        this.call?.tunnelEnded();
        pipeline.endExchange(this.exchange);
      },
    });
  }

  protected override callTo(forward: ForwardPlan): Http1Call | StreamCall {
    const { exchange } = this;
    const { pipeline, pool, sessions, upstreamHeads } = this.context;
    const listener = exchange.chain.bodySteps === null ? this : pluginListener(exchange, this);
    if (sessions !== null && forward.upstream.speaksHttp2) {
      exchange.upstreamVersion = "2";
      const translated = new TranslatedResponse(listener, () => this.call?.abort());
      return new StreamCall({ exchange, forward, pipeline, sessions, listener: translated });
    }
    return new Http1Call({ exchange, forward, protocol: this.#protocol, pool, upstreamHeads, listener });
  }

  protected override writeOwn(response: GatewayResponse): void {
    this.#settleLast(false);
    const { exchange } = this;
    const bodiless = exchange.request.method === "HEAD";
    const { pipeline, responseHeads } = this.context;
    const { out } = this.#client;
    const { status, body, isKept } = response;
    const connection = this.#connection();
    if (!isKept)
      out.text(gatewayResponseHead({ status, headers: pipeline.ownHeaders(exchange, response) }, connection));
    else {
      // The log phase gets a list, as with any other response of the gateway itself.
      if (exchange.chain.hasLog) pipeline.ownHeaders(exchange, response);
      out.text(responseHeads.kept(exchange, response, connection));
    }
    if (!bodiless && body.length > 0) out.bytes(ByteView.of(typeof body === "string" ? Buffer.from(body) : body));
    out.flush();
    this.finish();
  }

  protected override breakOff(): void {
    this.#client.out.flush();
    this.#client.destroy();
  }

  protected override onFinished(): void {
    this.#client.responseWritten(this.#last, this.exchange.timings.ended);
  }

  #settleLast(untilClose: boolean): void {
    this.#last ||= untilClose || this.#protocol !== null || !this.#client.mayGoOn || this.context.draining();
  }

  #connection(): Framing {
    return this.#last ? "Connection: close\r\n" : "Connection: keep-alive\r\n";
  }
}

const framingOf = ({ bodyKind }: ResponseHeadParser): BodyFraming =>
  bodyKind === CHUNKED_BODY || bodyKind === UNTIL_CLOSE ? "unsized" : "sized";
