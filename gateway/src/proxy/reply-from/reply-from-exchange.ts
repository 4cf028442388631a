/** One exchange between Fastify, reply-from and the upstream: applies the pipeline's decisions. */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { FastifyReply } from "fastify";
import type { DirectResponse } from "../../exchange/exchange.ts";
import type { GatewayErrorName } from "../../exchange/gateway-errors.ts";
import type { ForwardPlan, LiveExchange } from "../exchange/live-exchange.ts";
import type { RawHeaders } from "../headers/client-headers.ts";
import type { ClientMemory, MemoryAccount } from "../listener/client-memory.ts";
import type { AccessResult, Pipeline, ProxyLog } from "../pipeline.ts";
import { IdleTimer } from "../timers/idle-timer.ts";
import { type MinRateLimits, MinRateTimer } from "../timers/min-rate-timer.ts";
import { logUpstreamFailure, type UpstreamFailure } from "../upstream/log-upstream-failure.ts";
import type { SocketTraffic } from "./head.ts";
import { linger, writeHead, writeOwn } from "./node-response.ts";
import { RequestBodyTimer } from "./request-body-timer.ts";
import { UndiciCall, type UndiciCallListener } from "./undici-call.ts";
import type { UndiciPools } from "./undici-pools.ts";

/** State shared by all exchanges of a listener. */
export interface ReplyFromExchangeContext {
  readonly pipeline: Pipeline;
  readonly pools: UndiciPools;
  readonly log: ProxyLog;
  readonly memory: ClientMemory;
  /** True while the listener drains: connections close after their response. */
  readonly draining: () => boolean;
  /** Answered requests whose bodies are still arriving. */
  readonly lingering: Set<IncomingMessage>;
  /** Limits for request bodies. */
  readonly bodyPace: MinRateLimits;
  /** Limits for reading responses. */
  readonly sendPace: MinRateLimits;
  /** Called once when the exchange is over. */
  readonly ended: () => void;
}

/** reply-from's callback for a request. */
export type Answered = (
  error: Error | null,
  response?: { readonly statusCode: number; readonly headers: object; readonly body: ReplyFromExchange },
) => void;

/** State of a response that its client reads slowly. */
interface Taking {
  readonly pace: MinRateTimer;
  readonly stall: IdleTimer;
  readonly account: MemoryAccount;
}

export class ReplyFromExchange implements UndiciCallListener {
  readonly #context: ReplyFromExchangeContext;
  readonly #exchange: LiveExchange;
  readonly #traffic: SocketTraffic;
  readonly #incoming: IncomingMessage;
  readonly #reply: FastifyReply;
  readonly #raw: ServerResponse;
  #forward: ForwardPlan | null = null;
  #call: UndiciCall | null = null;
  #answered: Answered | null = null;
  #head: { readonly status: number; readonly headers: RawHeaders; readonly statusText: string } | null = null;
  #fault: GatewayErrorName = "unexpected";
  /** Set once the client has left data unread. */
  #taking: Taking | null = null;
  #over = false;

  constructor(
    context: ReplyFromExchangeContext,
    options: { readonly exchange: LiveExchange; readonly traffic: SocketTraffic; readonly reply: FastifyReply },
  ) {
    this.#context = context;
    this.#exchange = options.exchange;
    this.#traffic = options.traffic;
    this.#reply = options.reply;
    this.#raw = options.reply.raw;
    this.#incoming = options.reply.request.raw;
    this.#raw.once("close", () => this.#close()).on("error", ignore);
    if (options.exchange.body !== null) new RequestBodyTimer(this.#incoming, context.bodyPace, () => this.#late());
  }

  /** Runs the exchange. `send` passes the request to reply-from, which calls `start`. */
  run(send: (reply: FastifyReply) => void): void {
    const outcome = this.#context.pipeline.access(this.#exchange);
    if (outcome instanceof Promise) {
      outcome.then((settled) => this.#take(settled, send)).catch((error: Error) => this.#bug(error));
    } else this.#take(outcome, send);
  }

  /** Called by reply-from to request the response. */
  start(answered: Answered): void {
    if (this.#forward === null) return;
    this.#answered = answered;
    this.#call = new UndiciCall({
      exchange: this.#exchange,
      forward: this.#forward,
      headers: () => this.#context.pipeline.upstreamHeaders(this.#exchange),
      pools: this.#context.pools,
      listener: this,
    });
    this.#call.start();
  }

  head(status: number, headers: RawHeaders, statusText: string): void {
    this.#head = { status, headers, statusText };
    this.#answered?.(null, { statusCode: 200, headers: {}, body: this });
  }

  /** Called by reply-from to write the head; its own status and headers are placeholders. */
  writeHead(): void {
    if (this.#head === null || this.#over) return;
    const { status, statusText } = this.#head;
    this.#reply.hijack();
    const headers = this.#context.pipeline.clientHeaders(this.#exchange, status, this.#head.headers);
    writeHead(this.#raw, { status, statusText, headers, last: this.#context.draining() });
  }

  data(chunk: Buffer): boolean {
    if (this.#raw.write(chunk)) return true;
    this.#wait();
    return false;
  }

  #slow(): Taking {
    if (this.#taking === null) {
      const stall = new IdleTimer(() => this.#raw.destroy());
      const pace = new MinRateTimer(stall, this.#context.sendPace);
      const account = this.#context.memory.account(() => this.#raw.destroy());
      this.#taking = { pace, stall, account };
      this.#raw.on("drain", () => {
        pace.pause(this.#taken);
        account.taken(account.waiting);
        this.#call?.resume();
      });
    }
    return this.#taking;
  }

  /** Bytes that the kernel has accepted so far. */
  get #taken(): number {
    const { bytesWritten, writableLength } = this.#incoming.socket;
    return bytesWritten - writableLength;
  }

  end(trailers: RawHeaders): void {
    if (trailers.length > 0 && this.#exchange.request.takesTrailers) this.#raw.addTrailers(pairs(trailers));
    this.#raw.end();
    // A smaller rest fits into the kernel's buffer, unless the client already reads slowly.
    if (this.#taking !== null || this.#incoming.socket.writableLength > SMALL) this.#wait();
  }

  #wait(): void {
    const { pace, account } = this.#slow();
    pace.resume(this.#taken);
    account.wait(Math.max(this.#raw.writableLength, this.#incoming.socket.writableLength) - account.waiting);
  }

  failed(fault: GatewayErrorName, error: Error | null): void {
    this.#fault = fault;
    this.#report(error, "failed");
    this.#answered?.(error ?? new Error(fault));
  }

  /** Called by reply-from to report the failure. */
  writeFault(): void {
    this.#answer(this.#fault);
  }

  /** Destroys the client's connection, so that the client cannot mistake the partial response for a complete one. */
  broken(error: Error): void {
    this.#report(error, "broke off its response");
    this.#raw.destroy();
  }

  /** Called by reply-from to discard the response, because the client disconnected. */
  destroy(): void {
    this.#call?.abort();
  }

  #take(outcome: AccessResult, send: (reply: FastifyReply) => void): void {
    if (this.#over) return;
    if (outcome.forward === undefined) {
      this.#answer(outcome.answer);
      return;
    }
    this.#forward = outcome.forward;
    send(this.#reply);
  }

  #answer(answer: DirectResponse | GatewayErrorName, isLast = false): void {
    if (this.#over || this.#raw.headersSent) return;
    this.#reply.hijack();
    writeOwn(this.#raw, this.#context.pipeline.answer(this.#exchange, answer), isLast || this.#context.draining());
  }

  /** The body does not arrive in time: later bytes on the connection cannot be framed. */
  #late(): void {
    this.#call?.abort();
    if (this.#over) this.#incoming.socket.destroy();
    else if (this.#raw.headersSent) this.#raw.destroy();
    else this.#answer("requestTimeout", true);
  }

  #close(): void {
    this.#over = true;
    this.#taking?.stall.close();
    this.#taking?.account.close();
    if (!this.#raw.writableFinished) this.#call?.abort();
    if (this.#exchange.status === 0) this.#exchange.status = CLIENT_CLOSED;
    linger(this.#incoming, this.#context.lingering);
    this.#context.pipeline.finish(this.#exchange);
    this.#traffic.end();
    this.#context.ended();
  }

  /** Reached only through a bug: clients and upstreams cannot cause it. */
  #bug(error: Error): void {
    this.#context.log.error({ err: error, requestId: this.#exchange.id }, "the proxy failed");
    this.#raw.destroy();
  }

  #report(error: Error | null, what: UpstreamFailure["what"]): void {
    logUpstreamFailure(this.#context.log, { exchange: this.#exchange, error, what });
  }
}

/** Bytes that are normally written within the same event loop turn. */
const SMALL = 16_384;

/** The "close" event handles broken connections. */
const ignore = (): void => {};

/** nginx's status for a client that disconnected before its response; visible to plugins only. */
const CLIENT_CLOSED = 499;

const pairs = (flat: RawHeaders): [string, string][] => {
  const list: [string, string][] = [];
  for (let at = 0; at < flat.length; at += 2) list.push([String(flat[at]), String(flat[at + 1])]);
  return list;
};
