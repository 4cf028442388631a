/** One exchange with a client's HTTP/2 stream: writes the response to the stream. */
import type { Socket } from "node:net";
import { errorAnswer } from "../../exchange/gateway-errors.ts";
import { EngineExchange, type EngineExchangeContext } from "../exchange/engine-exchange.ts";
import type { ForwardPlan, LiveExchange } from "../exchange/live-exchange.ts";
import { grpcStatusOf, isGrpc } from "../exchange/protocols.ts";
import { FieldSection, passedFields } from "../http1/parse/fields.ts";
import { ResponseHeadParser } from "../http1/parse/response-head.ts";
import { Http1Call, type Http1CallListener } from "../http1/upstream/http1-call.ts";
import type { UpstreamHeads } from "../http1/upstream/upstream-head.ts";
import type { UpstreamPool } from "../http1/upstream/upstream-pool.ts";
import type { BodyFraming } from "../response/filtered-response.ts";
import type { GatewayResponse } from "../response/gateway-response.ts";
import { pluginListener } from "../response/suspended-response.ts";
import { ByteView } from "../sockets/byte-view.ts";
import { WEBSOCKET, webSocketAccept } from "./requests/websocket.ts";
import type { ResponseEncoder } from "./responses/response-encoder.ts";
import type { StreamWriter } from "./responses/stream-writer.ts";
import type { TunnelledUpstream } from "./stream-tunnel.ts";
import { StreamCall } from "./upstream/stream-call.ts";
import type { UpstreamSessions } from "./upstream/upstream-sessions.ts";
import type { UpstreamHead } from "./upstream/upstream-stream.ts";

export interface Http2ExchangeContext extends EngineExchangeContext {
  /** Connections to HTTP/1.1 upstreams. */
  readonly pool: UpstreamPool;
  readonly upstreamHeads: UpstreamHeads;
  /** Connections to HTTP/2 upstreams. */
  readonly sessions: UpstreamSessions;
  readonly responses: ResponseEncoder;
}

export interface Http2ExchangeOptions {
  readonly exchange: LiveExchange;
  readonly writer: StreamWriter;
  /** Called once when the response has been written. Not called if the stream closes earlier. */
  readonly onOver: () => void;
  /**
   * Connects the client's stream with an upstream that has agreed to a WebSocket; null: the request is no extended
   * CONNECT.
   */
  readonly join: ((upstream: TunnelledUpstream) => void) | null;
}

/** Highest valid status (RFC 9110 section 15).  */
const LAST_STATUS = 599;
const OK = 200;
/** The first status after those of successful requests. */
const REDIRECTIONS = 300;

export class Http2Exchange
  extends EngineExchange<Http2ExchangeContext, Http1Call | StreamCall>
  implements Http1CallListener
{
  readonly #writer: StreamWriter;
  readonly #isGrpc: boolean;
  readonly #join: Http2ExchangeOptions["join"];
  protected readonly onFinished: () => void;

  constructor(context: Http2ExchangeContext, { exchange, writer, onOver, join }: Http2ExchangeOptions) {
    super(context, exchange);
    this.#writer = writer;
    this.onFinished = onOver;
    this.#join = join;
    this.#isGrpc = join === null && isGrpc(exchange.request);
  }

  /**
   * Whether the client's silence while it sends a body is limited. False for gRPC, where a limit applies only while
   * both sides are silent.
   */
  get limitsSilence(): boolean {
    return !this.#isGrpc;
  }

  get reachesGrpc(): boolean {
    return true;
  }

  override get opensBySuccess(): boolean {
    return this.#join !== null;
  }

  interim({ status, headers }: UpstreamHead): void {
    // The gateway sends 100 Continue itself.
    if (status !== 100) this.#writer.interim(status, headers);
  }

  head(head: UpstreamHead): void {
    if (this.respond(head)) this.sendHead(head);
  }

  respond(head: UpstreamHead): boolean {
    if (this.isOver) return false;
    const { status } = head;
    if (status > LAST_STATUS) {
      this.call?.abort();
      this.failed("badUpstream", new RangeError(`the status ${status} cannot be sent over HTTP/2`));
      return false;
    }
    if (this.opensBySuccess && status >= OK && status < REDIRECTIONS) {
      // No failure of the upstream: a client can cause it by asking for a WebSocket where there is none.
      this.reject(errorAnswer("badUpstream", `the upstream answered ${status}, not the 101 that opens a WebSocket`));
      return false;
    }
    this.context.pipeline.respond(this.exchange, head);
    return true;
  }

  copyOf(head: UpstreamHead): UpstreamHead {
    return head instanceof ResponseHeadParser ? head.copy() : head;
  }

  sendHead(head: UpstreamHead, framing: BodyFraming | null = null): void {
    const { status, isBodiless, mayTrail } = head;
    this.hasBegun = true;
    const encoder = this.#writer.beginHead();
    if (encoder === null) return;
    const { exchange } = this;
    const { pipeline, responses } = this.context;
    const trailers = mayTrail && (this.#isGrpc || exchange.request.takesTrailers);
    if (head instanceof ResponseHeadParser && !this.#isGrpc) {
      responses.translated(encoder, { exchange, head, trailers });
    } else {
      const { headers } = head;
      if (this.#isGrpc) exchange.grpcStatus = grpcStatusOf(headers);
      responses.listed(encoder, status, pipeline.clientHeaders(exchange, headers));
    }
    // A filter may add a body to a response without one.
    this.#writer.finishHead({ ended: (isBodiless && framing === null) || this.isBodiless(status), trailers });
  }

  data(view: ByteView): void {
    if (!this.dropsBody) this.#writer.data(view);
  }

  fieldsOf(trailers: FieldSection | readonly string[]): readonly string[] {
    return trailers instanceof FieldSection ? passedFields(trailers) : trailers;
  }

  copyOfTrailers(trailers: FieldSection | readonly string[]): readonly string[] {
    return this.fieldsOf(trailers);
  }

  end(received: FieldSection | readonly string[] | null): void {
    const trailers = received === null ? null : this.fieldsOf(received);
    if (this.#isGrpc && trailers !== null) this.exchange.grpcStatus = grpcStatusOf(trailers);
    this.#writer.end(trailers);
    this.finish();
  }

  flush(): boolean {
    return this.#writer.isTaking;
  }

  upgraded(head: ResponseHeadParser, socket: Socket, first: Buffer): void {
    const { exchange } = this;
    const { pipeline, responses } = this.context;
    pipeline.respond(exchange, head);
    this.hasBegun = true;
    const upstream = this.inspected(socket, first);
    this.handOver();
    this.#join?.({
      upstream,
      silence: exchange.service?.read_timeout ?? 0,
      stall: exchange.service?.write_timeout ?? 0,
      onClose: () => {
        this.call?.tunnelEnded();
        pipeline.endExchange(exchange);
      },
    });
    const encoder = this.#writer.beginHead();
    if (encoder === null) return;
    responses.translated(encoder, { exchange, head, trailers: false });
    this.#writer.finishHead({ ended: false, trailers: false });
    if (upstream === socket) this.#writer.data(ByteView.of(first));
  }

  protected override callTo(forward: ForwardPlan): Http1Call | StreamCall {
    const { pipeline, sessions, pool, upstreamHeads } = this.context;
    const { exchange } = this;
    const listener = exchange.chain.bodySteps === null ? this : pluginListener(exchange, this);
    if (this.#isGrpc || forward.upstream.speaksHttp2) {
      exchange.upstreamVersion = "2";
      return new StreamCall({ exchange, forward, pipeline, sessions, listener });
    }
    const key = this.#join === null ? undefined : exchange.request.header("sec-websocket-key");
    const upgrade = key === undefined ? { protocol: null } : { protocol: WEBSOCKET, accept: webSocketAccept(key) };
    return new Http1Call({ exchange, forward, ...upgrade, pool, upstreamHeads, listener });
  }

  protected override writeOwn(response: GatewayResponse): void {
    const headers = this.context.pipeline.ownHeaders(this.exchange, response);
    if (this.#isGrpc) this.exchange.grpcStatus = grpcStatusOf(headers);
    this.#writer.own({ ...response, headers }, this.exchange.request.method);
    this.finish();
  }

  protected override breakOff(): void {
    this.#writer.breakOff();
  }
}
