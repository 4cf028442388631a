/** One exchange with a client that Fastify serves: writes the response to Node's response object. */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { DirectResponse } from "@sluice/plugin-sdk";
import type { FastifyReply } from "fastify";
import type { GatewayErrorName } from "../../exchange/gateway-errors.ts";
import { EngineExchange, type EngineExchangeContext } from "../exchange/engine-exchange.ts";
import type { ForwardPlan, LiveExchange } from "../exchange/live-exchange.ts";
import { headerText, type RawHeaders } from "../headers/raw-headers.ts";
import { ClientBackpressure } from "../http1/client-backpressure.ts";
import type { ClientMemory } from "../listener/client-memory.ts";
import type { GatewayResponse } from "../response/gateway-response.ts";
import { pluginListener } from "../response/suspended-response.ts";
import type { ByteView } from "../sockets/byte-view.ts";
import type { MinRateLimits } from "../timers/min-rate-timer.ts";
import { ConnectionActivity, StreamMinRateTimer } from "../timers/stream-min-rate-timer.ts";
import type { SocketTraffic } from "./head.ts";
import { lingerUntilRead, writeGatewayResponse, writeHead } from "./node-response.ts";
import { UndiciCall, type UndiciCallListener, type UndiciResponse } from "./undici-call.ts";
import type { UndiciPools } from "./undici-pools.ts";

/** State shared by all exchanges of a listener. */
export interface ReplyFromExchangeContext extends EngineExchangeContext {
  readonly pools: UndiciPools;
  readonly memory: ClientMemory;
  /** Whether a connection closes after its response, because the listener or its port drains. */
  readonly isDraining: (socket: Socket) => boolean;
  /** Answered requests whose bodies are still arriving. */
  readonly lingering: Set<IncomingMessage>;
  /** How slowly clients may send request bodies. */
  readonly bodyPace: MinRateLimits;
  /** How slowly clients may read responses. */
  readonly sendPace: MinRateLimits;
  /** Called once for each request, when it is over. */
  readonly ended: () => void;
}

/** reply-from's callback for a request. */
export type ReplyFromCallback = (
  error: Error | null,
  response?: { readonly statusCode: number; readonly headers: object; readonly body: ReplyFromExchange },
) => void;

export interface ReplyFromExchangeOptions {
  readonly exchange: LiveExchange;
  readonly traffic: SocketTraffic;
  readonly reply: FastifyReply;
  /** Passes the request to reply-from, which calls `start`. */
  readonly send: (reply: FastifyReply) => void;
}

export class ReplyFromExchange
  extends EngineExchange<ReplyFromExchangeContext, UndiciCall>
  implements UndiciCallListener
{
  readonly #traffic: SocketTraffic;
  readonly #incoming: IncomingMessage;
  readonly #reply: FastifyReply;
  readonly #raw: ServerResponse;
  readonly #send: (reply: FastifyReply) => void;
  #answered: ReplyFromCallback | null = null;
  #response: UndiciResponse | null = null;
  #isLast = false;
  /** Set once the client has left data unread. */
  #taking: ClientBackpressure | null = null;

  constructor(context: ReplyFromExchangeContext, { exchange, traffic, reply, send }: ReplyFromExchangeOptions) {
    super(context, exchange);
    this.#traffic = traffic;
    this.#reply = reply;
    this.#send = send;
    this.#raw = reply.raw;
    this.#incoming = reply.request.raw;
    // An error needs no handling of its own: after it, the response emits "close".
    this.#raw.once("close", () => this.#close()).on("error", () => {});
    if (exchange.body !== null) this.#limitSilence();
  }

  /** Limits how slowly the client may send its body while the gateway reads it. */
  #limitSilence(): void {
    const incoming = this.#incoming;
    const { socket } = incoming;
    const bytes = () => socket.bytesRead;
    const received = {
      get bytesRead() {
        return socket.bytesRead;
      },
      bytesWritten: 0,
    };
    const activity = new ConnectionActivity(this.context.bodyPace, received);
    const timer = new StreamMinRateTimer(activity, { bytes, onLate: () => this.#late() });
    const close = () => timer.close();
    incoming
      .on("resume", () => {
        if (!incoming.readableEnded) timer.run();
      })
      .on("pause", () => timer.pause())
      .once("end", close)
      .once("close", close);
  }

  /** This engine sends all requests over HTTP/1.1. */
  override get reachesGrpc(): boolean {
    return false;
  }

  protected override callTo(forward: ForwardPlan): UndiciCall {
    const { pipeline, pools } = this.context;
    const { exchange } = this;
    const listener = exchange.chain.bodySteps === null ? this : pluginListener(exchange, this);
    return new UndiciCall({ exchange, forward, pipeline, pools, listener });
  }

  protected override startCall(): void {
    this.#send(this.#reply);
  }

  /** Called by reply-from to request the response. */
  start(answered: ReplyFromCallback): void {
    this.#answered = answered;
    this.call?.start();
  }

  head(response: UndiciResponse): void {
    this.respond(response);
    this.sendHead(response);
  }

  respond(response: UndiciResponse): boolean {
    this.context.pipeline.respond(this.exchange, response);
    return true;
  }

  copyOf(response: UndiciResponse): UndiciResponse {
    return response;
  }

  fieldsOf(trailers: RawHeaders): readonly string[] {
    return trailers.map(headerText);
  }

  copyOfTrailers(trailers: RawHeaders): RawHeaders {
    return trailers;
  }

  /** Takes no framing, because Node determines it from the headers. */
  sendHead(response: UndiciResponse): void {
    this.#response = response;
    this.#answered?.(null, { statusCode: 200, headers: {}, body: this });
  }

  /** Called by reply-from to write the head; the status and headers that reply-from has are placeholders. */
  writeHead(): void {
    if (this.#response === null || this.isOver) return;
    const { status, statusText } = this.#response;
    this.hasBegun = true;
    this.#reply.hijack();
    const headers = this.context.pipeline.clientHeaders(this.exchange, this.#response.headers);
    writeHead(this.#raw, { status, statusText, headers, last: this.#isDraining });
  }

  data(view: ByteView): void {
    if (!this.dropsBody) this.#raw.write(view.keep());
  }

  flush(): boolean {
    if (!this.#raw.writableNeedDrain) return true;
    this.#wait();
    return false;
  }

  end(trailers: RawHeaders | null): void {
    if (trailers !== null && this.exchange.request.takesTrailers) this.#raw.addTrailers(pairs(trailers));
    this.#raw.end();
    this.exchange.body?.drop();
    // Up to SMALL unsent bytes fit into the kernel's buffer, unless the client already reads slowly.
    if (this.#taking !== null || this.#incoming.socket.writableLength > SMALL) this.#wait();
  }

  get #isDraining(): boolean {
    return this.context.isDraining(this.#incoming.socket);
  }

  #wait(): void {
    this.#taking ??= this.#watchClient();
    this.#taking.wait(0);
  }

  #watchClient(): ClientBackpressure {
    const { socket } = this.#incoming;
    const { sendPace: limits, memory } = this.context;
    const taking = new ClientBackpressure(socket, {
      out: {
        get written() {
          return socket.bytesWritten;
        },
      },
      limits,
      memory,
      onLate: () => this.#raw.destroy(),
    });
    this.#raw.on("drain", () => {
      taking.drained();
      this.resumeCall();
    });
    return taking;
  }

  /** Called by reply-from to discard the response, because the client disconnected. */
  destroy(): void {
    this.call?.abort();
  }

  /** Also closes the connection, because the start of the next request is unknown. */
  override reject(answer: DirectResponse | GatewayErrorName): void {
    this.#isLast = true;
    super.reject(answer);
  }

  protected override writeOwn(response: GatewayResponse): void {
    this.#reply.hijack();
    const headers = this.context.pipeline.ownHeaders(this.exchange, response);
    writeGatewayResponse(this.#raw, { ...response, headers }, this.#isLast || this.#isDraining);
    this.exchange.body?.drop();
  }

  protected override breakOff(): void {
    this.#raw.destroy();
  }

  protected override onFinished(): void {}

  /** Called when the body does not arrive in time. */
  #late(): void {
    if (this.isOver) this.#incoming.socket.destroy();
    else this.reject("requestTimeout");
  }

  #close(): void {
    this.#taking?.leave();
    lingerUntilRead(this.#incoming, this.context.lingering);
    if (this.#raw.writableFinished) this.finish();
    else this.abort();
    this.#traffic.end();
    this.context.ended();
  }
}

/** Unsent bytes at a response's end above which the client's reading is timed; fewer fit into the kernel's buffer. */
const SMALL = 16_384;

const pairs = (flat: RawHeaders): [string, string][] => {
  const list: [string, string][] = [];
  for (let at = 0; at < flat.length; at += 2) list.push([String(flat[at]), String(flat[at + 1])]);
  return list;
};
