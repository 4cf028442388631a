/** One exchange between Fastify, reply-from and the upstream: takes what the pipeline decided and writes the response. */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { FastifyReply } from "fastify";
import type { RawHeaders } from "../client-headers.ts";
import type { Answer } from "../exchange.ts";
import type { FaultName } from "../faults.ts";
import { takesTrailers } from "../header-names.ts";
import type { LiveExchange } from "../live-exchange.ts";
import type { Forward, Outcome, Pipeline, ProxyLog } from "../pipeline.ts";
import { type CallListener, UpstreamCall } from "../upstream/call.ts";
import { codeOf } from "../upstream/failure.ts";
import type { Pools } from "../upstream/pools.ts";
import type { SocketTraffic } from "./head.ts";
import { linger, writeHead, writeOwn } from "./node-response.ts";

/** What all deliveries of a listener share. */
export interface DeliveryContext {
  readonly pipeline: Pipeline;
  readonly pools: Pools;
  readonly log: ProxyLog;
  /** True while the listener drains: connections end with their response. */
  readonly draining: () => boolean;
  /** Told once when the exchange is over. */
  readonly ended: () => void;
}

/** reply-from's callback of a request. */
export type Answered = (
  error: Error | null,
  response?: { readonly statusCode: number; readonly headers: object; readonly body: Delivery },
) => void;

export class Delivery implements CallListener {
  readonly #context: DeliveryContext;
  readonly #exchange: LiveExchange;
  readonly #traffic: SocketTraffic;
  readonly #incoming: IncomingMessage;
  readonly #reply: FastifyReply;
  readonly #raw: ServerResponse;
  #forward: Forward | null = null;
  #call: UpstreamCall | null = null;
  #answered: Answered | null = null;
  #head: { readonly status: number; readonly headers: RawHeaders; readonly statusText: string } | null = null;
  #fault: FaultName = "unexpected";
  #drains = false;
  #over = false;

  constructor(
    context: DeliveryContext,
    options: { readonly exchange: LiveExchange; readonly traffic: SocketTraffic; readonly reply: FastifyReply },
  ) {
    this.#context = context;
    this.#exchange = options.exchange;
    this.#traffic = options.traffic;
    this.#reply = options.reply;
    this.#raw = options.reply.raw;
    this.#incoming = options.reply.request.raw;
    this.#raw.once("close", () => this.#close()).on("error", ignore);
  }

  /** Runs the exchange. `send` hands the request to reply-from, which calls `start`. */
  run(send: (reply: FastifyReply) => void): void {
    const outcome = this.#context.pipeline.access(this.#exchange);
    if (outcome instanceof Promise) {
      outcome.then((settled) => this.#take(settled, send)).catch((error: Error) => this.#bug(error));
    } else this.#take(outcome, send);
  }

  /** reply-from asks for the response. */
  start(answered: Answered): void {
    if (this.#forward === null) return;
    this.#answered = answered;
    this.#call = new UpstreamCall({
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

  /** reply-from passes the response on; its own status and headers are stand-ins. */
  writeHead(): void {
    if (this.#head === null || this.#over) return;
    const { status, statusText } = this.#head;
    this.#reply.hijack();
    const headers = this.#context.pipeline.clientHeaders(this.#exchange, status, this.#head.headers);
    writeHead(this.#raw, { status, statusText, headers, last: this.#context.draining() });
  }

  data(chunk: Buffer): boolean {
    if (this.#raw.write(chunk)) return true;
    if (!this.#drains) this.#raw.on("drain", () => this.#call?.resume());
    this.#drains = true;
    return false;
  }

  end(trailers: RawHeaders): void {
    if (trailers.length > 0 && takesTrailers(this.#exchange.request)) this.#raw.addTrailers(pairs(trailers));
    this.#raw.end();
  }

  failed(fault: FaultName, error: Error | null): void {
    this.#fault = fault;
    this.#report(error, `the upstream failed: ${fault}`);
    this.#answered?.(error ?? new Error(fault));
  }

  /** reply-from passes the failure on. */
  writeFault(): void {
    this.#answer(this.#fault);
  }

  /** The client must not take what it got for the whole: its connection breaks off too. */
  broken(error: Error): void {
    this.#report(error, "the upstream broke off its response");
    this.#raw.destroy();
  }

  /** reply-from throws the response away because the client is gone. */
  destroy(): void {
    this.#call?.abort();
  }

  #take(outcome: Outcome, send: (reply: FastifyReply) => void): void {
    if (this.#over) return;
    if (outcome.forward === undefined) {
      this.#answer(outcome.answer);
      return;
    }
    this.#forward = outcome.forward;
    send(this.#reply);
  }

  #answer(answer: Answer | FaultName): void {
    if (this.#over || this.#raw.headersSent) return;
    this.#reply.hijack();
    writeOwn(this.#raw, this.#context.pipeline.answer(this.#exchange, answer), this.#context.draining());
  }

  #close(): void {
    this.#over = true;
    if (!this.#raw.writableFinished) this.#call?.abort();
    if (this.#exchange.status === 0) this.#exchange.status = CLIENT_CLOSED;
    linger(this.#incoming);
    this.#context.pipeline.finish(this.#exchange);
    this.#traffic.end();
    this.#context.ended();
  }

  /** Nothing that a client or an upstream does leads here. */
  #bug(error: Error): void {
    this.#context.log.error({ err: error, requestId: this.#exchange.id }, "the proxy failed");
    this.#raw.destroy();
  }

  #report(error: Error | null, message: string): void {
    const { id, route, service } = this.#exchange;
    const details = { requestId: id, route: route.name ?? route.id, service: service?.name ?? service?.id };
    const cause = error === null ? {} : { code: codeOf(error), reason: error.message };
    this.#context.log.warn({ ...details, ...cause }, message);
  }
}

/** What a broken connection means is told by "close". */
const ignore = (): void => {};

/** nginx's status for a client that went away before it was answered; only plugins see it. */
const CLIENT_CLOSED = 499;

const pairs = (flat: RawHeaders): [string, string][] => {
  const list: [string, string][] = [];
  for (let at = 0; at < flat.length; at += 2) list.push([String(flat[at]), String(flat[at + 1])]);
  return list;
};
