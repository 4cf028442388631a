/**
 * One exchange between a client and an upstream: applies the pipeline's decisions. Subclasses write to the client, and
 * open the call to the upstream.
 */
import type { Socket } from "node:net";
import { hostAndPort } from "@sluice/model/serving";
import type { DirectResponse, MirroredRequest } from "@sluice/plugin-sdk";
import type { GatewayErrorName } from "../../exchange/gateway-errors.ts";
import type { ProxyLog } from "../engine.ts";
import type { TunnelUpstream } from "../http1/tunnel.ts";
import type { Mirrors } from "../mirror/mirrors.ts";
import type { AccessResult, Pipeline } from "../pipeline.ts";
import type { GatewayResponse } from "../response/gateway-response.ts";
import { type HeldMessage, ownMessage, stepsThatHold } from "../response/response-phase.ts";
import type { ResponseTransform } from "../response/response-transform.ts";
import { errorCodeOf, failureReason } from "../upstream/failure.ts";
import { InspectedSocket } from "../websocket/inspected-socket.ts";
import type { ForwardPlan, LiveExchange, ResponseSender } from "./live-exchange.ts";

/** State shared by all exchanges of a listener. */
export interface EngineExchangeContext {
  readonly pipeline: Pipeline;
  readonly log: ProxyLog;
  readonly mirrors: Mirrors;
}

/** The upstream side of an exchange. */
interface Call {
  start(): void;
  /** Continues reading the response. */
  resume(): void;
  /** Cancels the request, because its response is no longer wanted. */
  abort(): void;
}

const NO_CONTENT = 204;
const NOT_MODIFIED = 304;
/** nginx's status for a client that disconnected before its response. It is logged and counted, but never sent. */
const CLIENT_CLOSED = 499;

export abstract class EngineExchange<Context extends EngineExchangeContext, UpstreamCall extends Call>
  implements ResponseSender
{
  protected readonly context: Context;
  protected readonly exchange: LiveExchange;
  protected call: UpstreamCall | null = null;
  /** Whether a response has begun. */
  protected hasBegun = false;
  /** Null: no plugin transforms the response. */
  #transform: ResponseTransform | null = null;
  #isOver = false;

  constructor(context: Context, exchange: LiveExchange) {
    this.context = context;
    this.exchange = exchange;
    exchange.sender = this;
  }

  abstract get reachesGrpc(): boolean;
  protected abstract callTo(forward: ForwardPlan): UpstreamCall;
  /** Writes a complete response. `finish` is called once it has been written. */
  protected abstract writeOwn(response: GatewayResponse): void;
  /** Breaks off the response, so that the client cannot mistake it for a complete one. */
  protected abstract breakOff(reason: string): void;
  /** Called when the response has been written. The client may still be sending. */
  protected abstract onFinished(): void;

  get opensBySuccess(): boolean {
    return false;
  }

  protected startCall(call: UpstreamCall): void {
    call.start();
  }

  run(): void {
    const outcome = this.context.pipeline.access(this.exchange);
    if (outcome instanceof Promise) {
      outcome.then((settled) => this.#apply(settled)).catch((error: Error) => this.reportBug(error));
    } else this.#apply(outcome);
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  /** Called when the client has disconnected. */
  abort(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.exchange.body?.lose();
    this.#cancel();
    if (this.exchange.status === 0) {
      this.exchange.status = CLIENT_CLOSED;
      this.exchange.isAbandoned = true;
    }
    this.context.pipeline.endExchange(this.exchange);
  }

  /** Called when the client's body is malformed, too long, or does not arrive. */
  reject(answer: DirectResponse | GatewayErrorName): void {
    if (this.#isOver) return;
    this.#cancel();
    if (this.hasBegun) this.breakOff("the body of the request was rejected");
    else this.#answer(answer);
  }

  mirror(request: MirroredRequest): void {
    this.context.mirrors.prepare(this.exchange, request);
  }

  /** Continues the upstream's response: the client accepts data again, or a plugin reads the body. */
  resumeCall(): void {
    this.#transform?.resume();
    if (this.#transform?.isFull !== true) this.call?.resume();
  }

  transformBy(transform: ResponseTransform): void {
    this.#transform = transform;
  }

  failed(fault: GatewayErrorName, error: Error | null): void {
    this.#reportFailure(error, "failed");
    this.#answer(fault, error ?? this.exchange.tryError);
  }

  /**
   * Runs the phase `response` of the plugins for a response that has not begun. `onEnd` receives the response that
   * replaces it; null: no plugin replaced it. `onEnd` is not called if the exchange has ended or been answered during
   * the phase.
   */
  runResponsePhases(message: HeldMessage, onEnd: (own: GatewayResponse | null) => void): void {
    const held = this.context.pipeline.runResponsePhases(this.exchange, message);
    held
      .then((own) => {
        if (!this.#isOver && !this.hasBegun) onEnd(own);
      })
      .catch((error: Error) => this.reportBug(error));
  }

  /** Cancels the call to the upstream, and sends this response instead of the upstream's. */
  replaceBy(response: GatewayResponse): void {
    this.call?.abort();
    this.#send(response);
  }

  /** Called when a body filter failed: replaces the response, or aborts it if its head has been sent. */
  filterFailed(error: unknown): void {
    if (this.#isOver) return;
    this.#cancel();
    const answer = this.context.pipeline.filterFailed(this.exchange, error);
    if (this.hasBegun) this.breakOff("a plugin failed");
    else this.#answer(answer);
  }

  broken(error: Error): void {
    this.#reportFailure(error, "aborted its response");
    this.#transform?.destroy();
    this.breakOff("the upstream aborted its response");
  }

  /** Whether a response with this status has no body (RFC 9110 section 6.4.1). */
  protected isBodiless(status: number): boolean {
    return this.exchange.request.method === "HEAD" || status === NO_CONTENT || status === NOT_MODIFIED;
  }

  /**
   * Whether the body of the upstream's response is discarded: the upstream sends one if a plugin has changed the
   * client's HEAD to another method.
   */
  protected get dropsBody(): boolean {
    return this.exchange.request.method === "HEAD";
  }

  /**
   * The upstream's side of a WebSocket: the socket itself, unless a plugin inspects the client's messages.
   *
   * @param first Bytes that the upstream has sent. The inspected socket passes them on; the caller has to do so otherwise
   */
  protected inspected(socket: Socket, first: Buffer): TunnelUpstream {
    const inspector = this.exchange.messageInspector;
    if (inspector === null) return socket;
    const onError = (error: unknown) =>
      this.context.log.error({ err: error, requestId: this.exchange.id }, "a plugin failed to inspect a message");
    return new InspectedSocket({ socket, inspector, first, onError });
  }

  protected finish(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.context.pipeline.endExchange(this.exchange);
    this.onFinished();
  }

  /** Marks the exchange as over without `finish`, because the client's connection becomes a tunnel. */
  protected handOver(): void {
    this.#isOver = true;
  }

  /** Logs an error that only a bug in the gateway can cause, and breaks off the response. */
  protected reportBug(error: Error): void {
    this.context.log.error({ err: error, requestId: this.exchange.id }, "the proxy failed");
    this.breakOff("the proxy failed");
  }

  /** Ends the call and the transformation of its response, because the response is no longer wanted. */
  #cancel(): void {
    this.call?.abort();
    this.#transform?.destroy();
  }

  #apply(outcome: AccessResult): void {
    // While a plugin waited, the client may have disconnected, or its body may have been rejected.
    if (this.#isOver || this.hasBegun) return;
    if (outcome.forward === undefined) {
      this.#answer(outcome.answer);
      return;
    }
    this.call = this.callTo(outcome.forward);
    this.startCall(this.call);
  }

  #answer(answer: DirectResponse | GatewayErrorName, cause: Error | null = null): void {
    if (this.#isOver || this.hasBegun) return;
    const { exchange } = this;
    const own = this.context.pipeline.createAnswer(exchange, answer, cause);
    if (exchange.chain.holdingSteps === null || stepsThatHold(exchange).length === 0) this.#send(own);
    else this.runResponsePhases(ownMessage(own), (other) => this.#send(other ?? own));
  }

  #send(own: GatewayResponse): void {
    this.hasBegun = true;
    this.writeOwn(this.context.pipeline.complete(this.exchange, own));
  }

  /** Logs a failed upstream with address and cause. Clients receive a generic message. */
  #reportFailure(error: Error | null, what: "failed" | "aborted its response"): void {
    const { id, route, service, target } = this.exchange;
    const address = target && hostAndPort(target);
    const reason = error === null ? "no target accepts requests" : failureReason(error);
    const details = {
      requestId: id,
      route: route.name ?? route.id,
      service: service?.name ?? service?.id,
      ...(address !== null && { upstream: address }),
      ...(error !== null && { code: errorCodeOf(error), reason }),
    };
    this.context.log.warn(details, `the upstream ${address === null ? "" : `${address} `}${what}: ${reason}`);
  }
}
