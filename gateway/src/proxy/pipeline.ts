/**
 * The pipeline: what happens to a request, whichever engine carries it.
 *
 *     open (match) -> access (checks, plugins) -> an answer of ours, or a forward plan -> respond -> finish (log)
 *
 * It is synchronous as long as no plugin is asynchronous.
 */
import type { Runtime, Step, Upstream } from "../runtime/runtime.ts";
import { clientHeaders, type RawHeaders } from "./client-headers.ts";
import type { Answer } from "./exchange.ts";
import { type FaultName, faultFor, faults } from "./faults.ts";
import { type HeaderStyle, headerStyle } from "./header-names.ts";
import { LineLimit } from "./line-limit.ts";
import { LiveExchange, type Traffic } from "./live-exchange.ts";
import type { Observer } from "./observer.ts";
import { type OwnResponse, ownResponse } from "./own-response.ts";
import { escapePath } from "./path.ts";
import { protocolFault } from "./protocol.ts";
import { IncomingRequest, type RequestHead } from "./request.ts";
import { BodyLostError } from "./request-body.ts";
import { newRequestId } from "./request-id.ts";
import type { ProxySettings } from "./settings.ts";
import { createTrust } from "./trust.ts";
import { upstreamHeaders } from "./upstream-headers.ts";
import { upstreamPath } from "./upstream-path.ts";

/** The part of a logger that the proxy uses; pino's is one. */
export interface ProxyLog {
  warn(details: object, message: string): void;
  error(details: object, message: string): void;
}

/** What to send to an upstream. */
export interface Forward {
  readonly upstream: Upstream;
  readonly method: string;
  /** Path and query as they go on the wire. */
  readonly path: string;
}

/** A request that matched no route is no exchange: no plugin sees it. */
export type Opened =
  | { readonly exchange: LiveExchange; readonly refusal?: undefined }
  | {
      readonly exchange?: undefined;
      readonly refusal: OwnResponse;
      /** True when the head is faulty: then nothing that follows on its connection can be trusted. */
      readonly last: boolean;
    };

export type Outcome =
  | { readonly forward: Forward; readonly answer?: undefined }
  | { readonly forward?: undefined; readonly answer: Answer | FaultName };

export class Pipeline {
  readonly #runtime: () => Runtime;
  readonly #log: ProxyLog;
  readonly #trust: ReturnType<typeof createTrust>;
  readonly #observer: Observer | null;
  readonly #lines = new LineLimit();
  readonly #onUnrouted: (fault: FaultName) => void;
  readonly style: HeaderStyle;

  constructor(options: {
    readonly runtime: () => Runtime;
    readonly settings: ProxySettings;
    readonly log: ProxyLog;
    /** Default null: nobody looks on. */
    readonly observer?: Observer | null;
    /** Told of every request that is answered before it has a route. */
    readonly onUnrouted?: (fault: FaultName) => void;
  }) {
    const { settings, observer = null, onUnrouted = () => {} } = options;
    this.#observer = observer;
    this.#onUnrouted = onUnrouted;
    this.#runtime = options.runtime;
    this.#log = options.log;
    this.#trust = createTrust(settings.trustedIps, settings.realIpHeader);
    this.style = headerStyle(settings);
  }

  /** Finds the route of a request whose head has arrived. */
  open(head: RequestHead, traffic: Traffic): Opened {
    const started = performance.now();
    const request = IncomingRequest.of(head, this.#trust);
    if (typeof request === "string") {
      return { refusal: this.#refuse(request, { request: null, started, peerAddress: head.peerAddress }), last: true };
    }
    const runtime = this.#runtime();
    const match = runtime.match(request);
    if (match === null) {
      return { refusal: this.#refuse("noRoute", { request, started, peerAddress: head.peerAddress }), last: false };
    }
    const observer = this.#observer;
    const exchange = new LiveExchange({ request, runtime, match, traffic, started, observer });
    if (observer !== null) observer.opened?.(exchange);
    return { exchange };
  }

  /** Runs checks and plugins. Never throws nor rejects: a bug answers 500 and is logged with its cause. */
  access(exchange: LiveExchange): Outcome | Promise<Outcome> {
    const { route } = exchange;
    const unavailable = route._sluice?.unavailable;
    if (unavailable !== undefined) return { answer: faultFor("closed", unavailable) };
    const fault = protocolFault(exchange);
    if (fault !== null) return { answer: fault };
    return this.#runFrom(0, exchange);
  }

  /** The answer as it goes to the client; the response phase runs. */
  answer(exchange: LiveExchange, answer: Answer | FaultName): OwnResponse {
    const { request } = exchange;
    const response: Answer = typeof answer === "string" ? faults[answer] : answer;
    if (response.reason !== undefined) this.#tellReason(exchange, response.status, response.reason);
    exchange.source = "gateway";
    this.#respond(exchange, response.status);
    const { started } = exchange.timings;
    const own = ownResponse(response, { style: this.style, id: exchange.id, request, started });
    return { ...own, headers: exchange.editResponse(own.headers) };
  }

  /** What the upstream gets, flat: name, value, name, value. Connection headers are the engine's. */
  upstreamHeaders(exchange: LiveExchange): readonly string[] {
    return upstreamHeaders(exchange, this.style);
  }

  /** The head of an upstream's response has come: the response phase runs. */
  respond(exchange: LiveExchange, status: number): void {
    exchange.timings.answered = performance.now();
    exchange.source = "service";
    this.#respond(exchange, status);
  }

  /** `respond`, and what the client gets then, flat. */
  clientHeaders(exchange: LiveExchange, status: number, raw: RawHeaders): readonly string[] {
    this.respond(exchange, status);
    return clientHeaders(exchange, raw, this.style);
  }

  /** The exchange is over, well or badly. */
  finish(exchange: LiveExchange): void {
    if (exchange.timings.ended !== undefined) return;
    exchange.timings.ended = performance.now();
    for (const { instance } of exchange.chain) {
      try {
        instance.log?.(exchange);
      } catch (error) {
        this.#failed(exchange, error);
      }
    }
    if (this.#observer !== null) this.#observer.finished?.(exchange);
  }

  #runFrom(first: number, exchange: LiveExchange): Outcome | Promise<Outcome> {
    try {
      for (let at = first; at < exchange.chain.length; at++) {
        const step = exchange.chain[at];
        if (step?.instance.access === undefined) continue;
        const known = exchange.consumer;
        const answer = step.instance.access(exchange);
        if (answer instanceof Promise) return this.#resume(at, { answer, step, known, exchange });
        if (exchange.consumer !== known) identify(exchange, step);
        if (answer !== undefined) return { answer };
      }
      return this.#forward(exchange);
    } catch (error) {
      return this.#failed(exchange, error);
    }
  }

  async #resume(
    at: number,
    options: {
      readonly answer: Promise<Answer | undefined>;
      readonly step: Step;
      readonly known: LiveExchange["consumer"];
      readonly exchange: LiveExchange;
    },
  ): Promise<Outcome> {
    const { exchange, step, known } = options;
    try {
      const answer = await options.answer;
      if (exchange.consumer !== known) identify(exchange, step);
      return answer === undefined ? await this.#runFrom(at + 1, exchange) : { answer };
    } catch (error) {
      return this.#failed(exchange, error);
    }
  }

  #forward(exchange: LiveExchange): Outcome {
    const { request, part, match } = exchange;
    const { upstream, route } = part;
    if (upstream === null) return { answer: "noService" };
    if (upstream.headers !== null) for (const edit of upstream.headers) exchange.upstreamHeaders.apply(edit);
    const joined = upstreamPath({
      base: upstream.basePath,
      path: request.path,
      matchedPath: match.matchedPath,
      strip: route.strip_path,
      handling: route.path_handling,
    });
    const path = request.target.plain ? joined : escapePath(joined);
    return { forward: { upstream, method: request.method, path: path + exchange.forwardedQuery } };
  }

  #failed(exchange: LiveExchange, error: unknown): Outcome {
    // Anybody could fill the log with what anybody can do.
    if (error instanceof BodyLostError) return { answer: "clientGone" };
    const { id, route } = exchange;
    const unlogged = this.#lines.allow(`${route.id} ${error}`);
    if (unlogged !== null) {
      const details = { err: error, requestId: id, route: route.name ?? route.id, ...(unlogged > 0 && { unlogged }) };
      this.#log.error(details, "a plugin failed");
    }
    return { answer: "unexpected" };
  }

  /** Clients are not told how the gateway is configured. */
  #tellReason({ id, route, service }: LiveExchange, status: number, reason: string): void {
    const unlogged = this.#lines.allow(`${route.id} ${reason}`);
    if (unlogged === null) return;
    const details = { requestId: id, route: route.name ?? route.id, service: service?.name ?? service?.id, reason };
    this.#log.warn({ ...details, ...(unlogged > 0 && { unlogged }) }, `a request was answered ${status}`);
  }

  /** Past the access phase a plugin's bug is logged; the request goes on. */
  #respond(exchange: LiveExchange, status: number): void {
    exchange.status = status;
    for (const { instance } of exchange.chain) {
      try {
        instance.respond?.(exchange);
      } catch (error) {
        this.#failed(exchange, error);
      }
    }
  }

  /** A fault of a request that is no exchange. `request` is null when not even its head could be read. */
  #refuse(
    name: FaultName,
    {
      request,
      started,
      peerAddress,
    }: { readonly request: IncomingRequest | null; readonly started: number; readonly peerAddress: string },
  ): OwnResponse {
    this.#onUnrouted(name);
    const id = newRequestId();
    const { status } = faults[name];
    if (this.#observer !== null) {
      this.#observer.refused?.({ id, status, request, peerAddress, duration: performance.now() - started });
    }
    return ownResponse(faults[name], { style: this.style, id, request, started });
  }

  /**
   * A fault that the engine found before it had a request: a head too long, a head that is none.
   *
   * @param peerAddress Of the connection
   */
  refuse(name: FaultName, peerAddress: string): OwnResponse {
    return this.#refuse(name, { request: null, started: performance.now(), peerAddress });
  }
}

/** From here on the consumer's own plugins apply. */
function identify(exchange: LiveExchange, { priority }: Step): void {
  if (exchange.consumer !== null) exchange.chain = exchange.chains.identified(exchange.consumer, priority);
}
