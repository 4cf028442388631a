/** One exchange between a client's HTTP/2 stream and an upstream: applies the pipeline's decisions. */
import type { DirectResponse } from "../../exchange/exchange.ts";
import type { GatewayErrorName } from "../../exchange/gateway-errors.ts";
import { grpcStatusOf, isGrpc, isGrpcService } from "../exchange/grpc.ts";
import type { LiveExchange } from "../exchange/live-exchange.ts";
import { UpstreamCall } from "../http1/upstream/upstream-call.ts";
import type { UpstreamHeads } from "../http1/upstream/upstream-head.ts";
import type { UpstreamPool } from "../http1/upstream/upstream-pool.ts";
import type { AccessResult, Pipeline, ProxyLog } from "../pipeline.ts";
import { logUpstreamFailure, type UpstreamFailure } from "../upstream/log-upstream-failure.ts";
import type { StreamHead } from "./stream-head.ts";
import type { StreamWriter } from "./stream-writer.ts";
import { Http1ResponseAdapter } from "./upstream/http1-response-adapter.ts";
import type { ResponseListener, UpstreamCallHandle, UpstreamHead } from "./upstream/response-listener.ts";
import { StreamCall } from "./upstream/stream-call.ts";
import type { UpstreamSessions } from "./upstream/upstream-sessions.ts";

/** State shared by all exchanges of a listener. */
export interface Http2ExchangeContext {
  readonly pipeline: Pipeline;
  readonly log: ProxyLog;
  /** Connections to HTTP/1.1 upstreams. */
  readonly pool: UpstreamPool;
  readonly upstreamTexts: UpstreamHeads<StreamHead>;
  /** Connections to HTTP/2 upstreams. */
  readonly sessions: UpstreamSessions;
}

export interface Http2ExchangeOptions {
  readonly exchange: LiveExchange;
  readonly head: StreamHead;
  readonly writer: StreamWriter;
  /** Called once when the response has been written, or cannot be. The client may still be sending. */
  readonly onOver: () => void;
}

const NO_CONTENT = 204;
const NOT_MODIFIED = 304;
/** Highest status that HTTP/2 allows. */
const LAST_STATUS = 599;
/** nginx's status for a client that disconnected before its response; visible to plugins only. */
const CLIENT_CLOSED = 499;

export class Http2Exchange implements ResponseListener {
  readonly #context: Http2ExchangeContext;
  readonly #exchange: LiveExchange;
  readonly #head: StreamHead;
  readonly #writer: StreamWriter;
  readonly #onOver: () => void;
  readonly #isGrpc: boolean;
  #call: UpstreamCallHandle | null = null;
  #begun = false;
  #over = false;

  constructor(context: Http2ExchangeContext, { exchange, head, writer, onOver }: Http2ExchangeOptions) {
    this.#context = context;
    this.#exchange = exchange;
    this.#head = head;
    this.#writer = writer;
    this.#onOver = onOver;
    this.#isGrpc = isGrpc(exchange.request);
  }

  run(): void {
    const outcome = this.#context.pipeline.access(this.#exchange);
    if (outcome instanceof Promise) {
      outcome.then((settled) => this.#take(settled)).catch((error: Error) => this.#bug(error));
    } else this.#take(outcome);
  }

  get isOver(): boolean {
    return this.#over;
  }

  /** False for gRPC: its clients may be silent during a call, so only silence of both sides counts. */
  get limitsSilence(): boolean {
    return !this.#isGrpc;
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

  /** The body does not arrive. */
  reject(fault: GatewayErrorName): void {
    if (this.#over) return;
    this.#call?.abort();
    if (this.#begun) this.#writer.breakOff(fault);
    else this.#answer(fault);
  }

  /** The client accepts data again. */
  drained(): void {
    this.#call?.resume();
  }

  interim(status: number, headers: readonly string[]): void {
    // The gateway sends 100 Continue itself.
    if (status !== 100) this.#writer.interim(status, headers);
  }

  head({ status, headers, ended, trailers }: UpstreamHead): void {
    if (this.#over) return;
    if (status > LAST_STATUS) {
      this.#call?.abort();
      this.failed("badUpstream", new RangeError(`HTTP/2 knows no status ${status}`));
      return;
    }
    this.#begun = true;
    if (this.#isGrpc) this.#exchange.grpcStatus = grpcStatusOf(headers);
    const fields = this.#context.pipeline.clientHeaders(this.#exchange, status, headers);
    const isBodiless = ended || this.#head.method === "HEAD" || status === NO_CONTENT || status === NOT_MODIFIED;
    const mayTrail = trailers && (this.#isGrpc || this.#exchange.request.takesTrailers);
    try {
      this.#writer.head(status, fields, { ended: isBodiless, trailers: mayTrail });
    } catch (error) {
      this.#call?.abort();
      this.#bug(error as Error);
    }
  }

  data(piece: Buffer): void {
    this.#writer.data(piece);
  }

  end(trailers: readonly string[] | null): void {
    if (this.#isGrpc && trailers !== null) this.#exchange.grpcStatus = grpcStatusOf(trailers);
    this.#writer.end(trailers);
    this.#finish();
  }

  flush(): boolean {
    return this.#writer.isTaking;
  }

  failed(fault: GatewayErrorName, error: Error | null): void {
    this.#report(error, "failed");
    this.#answer(fault);
  }

  /** Resets the stream, so that the client cannot mistake the partial response for a complete one. */
  broken(error: Error): void {
    this.#report(error, "broke off its response");
    this.#writer.breakOff("the upstream broke off its response");
  }

  #take(outcome: AccessResult): void {
    if (this.#over) return;
    const { forward } = outcome;
    if (forward === undefined) {
      this.#answer(outcome.answer);
      return;
    }
    const { pipeline, sessions, pool, upstreamTexts } = this.#context;
    const exchange = this.#exchange;
    const head = this.#head;
    if (this.#isGrpc || isGrpcService(forward.upstream.service)) {
      exchange.upstreamVersion = "2";
      this.#call = new StreamCall({ exchange, body: head.body, forward, pipeline, sessions, listener: this });
    } else {
      this.#call = new UpstreamCall({
        ...{ exchange, head, forward, protocol: null, pool, heads: upstreamTexts },
        listener: new Http1ResponseAdapter(this),
      });
    }
    this.#call.start();
  }

  #answer(answer: DirectResponse | GatewayErrorName): void {
    if (this.#over || this.#begun) return;
    this.#begun = true;
    const own = this.#context.pipeline.answer(this.#exchange, answer);
    if (this.#isGrpc) this.#exchange.grpcStatus = grpcStatusOf(own.headers);
    this.#writer.own(own, this.#head.method);
    this.#finish();
  }

  #finish(): void {
    if (this.#over) return;
    this.#over = true;
    this.#context.pipeline.finish(this.#exchange);
    this.#onOver();
  }

  #bug(error: Error): void {
    this.#context.log.error({ err: error, requestId: this.#exchange.id }, "the proxy failed");
    this.#writer.breakOff("the proxy failed");
  }

  #report(error: Error | null, what: UpstreamFailure["what"]): void {
    logUpstreamFailure(this.#context.log, { exchange: this.#exchange, error, what });
  }
}
