/**
 * The pipeline of a request, the same for every engine.
 *
 *     open (match) -> access (checks, plugins) -> a direct response or a forward plan -> respond -> finish (log)
 *
 * The pipeline is synchronous unless a plugin is asynchronous.
 */

import { type DirectResponse, escapePath } from "@sluice/plugin-sdk";
import { continuedChain } from "../compile/plugin-chains.ts";
import type { PluginStep, Runtime } from "../compile/runtime.ts";
import { errorAnswer, type GatewayErrorName, gatewayErrors } from "../exchange/gateway-errors.ts";
import { BodyLostError } from "./client/client-body.ts";
import { unroutedDebugHeaders } from "./debug/debug-timings.ts";
import { DEBUG_HEADER, type DebugTokens } from "./debug/debug-tokens.ts";
import type { PipelineOptions, ProxyLog } from "./engine.ts";
import { type ForwardPlan, LiveExchange, type TrafficCounters } from "./exchange/live-exchange.ts";
import { checkProtocol, mayCall } from "./exchange/protocols.ts";
import { IncomingRequest, type RequestHead } from "./exchange/request.ts";
import { newRequestId } from "./exchange/request-id.ts";
import { createTrustedProxies } from "./exchange/trusted-proxies.ts";
import { upstreamPath } from "./exchange/upstream-path.ts";
import { clientHeaders } from "./headers/client-headers.ts";
import { type HeaderStyle, headerStyle } from "./headers/header-names.ts";
import type { RawHeaders, ResponseHead } from "./headers/raw-headers.ts";
import { upstreamHeaders } from "./headers/upstream-headers.ts";
import { LogLimiter } from "./observability/log-limiter.ts";
import type { RequestObserver } from "./observability/observer.ts";
import { BodyTooLongError, filteredBody, ReplacedResponseError } from "./response/body-filters.ts";
import {
  createGatewayResponse,
  finalResponse,
  type GatewayResponse,
  responseReason,
} from "./response/gateway-response.ts";
import {
  type HeldMessage,
  ownMessage,
  ResponseBrokenError,
  runResponsePhase,
  stepsThatHold,
} from "./response/response-phase.ts";

/** A request with an invalid head, without a route, or for a CA's challenge is no exchange: plugins do not see it. */
export type OpenResult =
  | { readonly exchange: LiveExchange; readonly refusal?: undefined }
  | {
      readonly exchange?: undefined;
      readonly refusal: GatewayResponse;
      /** Null: the head is invalid. */
      readonly request: IncomingRequest | null;
      /** True when the head is invalid: the connection must close, as the start of the next request is unknown. */
      readonly last: boolean;
    };

export type AccessResult =
  | { readonly forward: ForwardPlan; readonly answer?: undefined }
  | { readonly forward?: undefined; readonly answer: DirectResponse | GatewayErrorName };

const FIRST_SERVER_ERROR = 500;

interface RefusedRequest {
  /** Remote address of the connection. */
  readonly peerAddress: string;
  /** Default null: the head could not be read. */
  readonly request?: IncomingRequest | null;
  /** When the request arrived, by `performance.now()`. Default: now. */
  readonly started?: number;
}

export class Pipeline {
  readonly #runtime: () => Runtime;
  readonly #log: ProxyLog;
  readonly #trust: ReturnType<typeof createTrustedProxies>;
  readonly #observer: RequestObserver | null;
  /** Two limits, so that refusals, which any client can cause, do not displace failures. */
  readonly #refusals = new LogLimiter();
  readonly #failures = new LogLimiter();
  readonly #onUnrouted: (fault: GatewayErrorName) => void;
  readonly #debugTokens: DebugTokens | null;
  readonly style: HeaderStyle;

  constructor({ runtime, settings, log, observer = null, onUnrouted = () => {}, debugTokens = null }: PipelineOptions) {
    this.#debugTokens = debugTokens;
    this.#observer = observer;
    this.#onUnrouted = onUnrouted;
    this.#runtime = runtime;
    this.#log = log;
    this.#trust = createTrustedProxies(settings.trustedIps, settings.realIpHeader);
    this.style = headerStyle(settings);
  }

  /** Finds the route of a request whose head has arrived, and opens an exchange for it. */
  open(head: RequestHead, traffic: TrafficCounters): OpenResult {
    const started = performance.now();
    const { peerAddress } = head.peer;
    const request = IncomingRequest.of(head, this.#trust);
    if (typeof request === "string") {
      return { refusal: this.refuse(request, { started, peerAddress }), request: null, last: true };
    }
    const runtime = this.#runtime();
    const challenge = runtime.challenges === null ? null : runtime.challenges.responseTo(request.path);
    if (challenge !== null) {
      const options = { style: this.style, id: newRequestId(), request, started };
      return { refusal: createGatewayResponse(challenge, options), request, last: false };
    }
    const match = runtime.match(request);
    if (match === null) {
      const fault = runtime.listeners.isMisdirected(request) ? "misdirected" : runtime.unmatched;
      return { refusal: this.refuse(fault, { request, started, peerAddress }), request, last: false };
    }
    const observer = this.#observer;
    const exchange = new LiveExchange({ request, runtime, match, traffic, started, observer });
    runtime.exchanges.open++;
    if (this.#isDebugged(request)) exchange.beginDebugTimings();
    if (observer !== null) observer.opened?.(exchange);
    return { exchange };
  }

  /** Runs checks and the phase `access`. Never throws or rejects: a plugin's error is logged and answered with 500. */
  access(exchange: LiveExchange): AccessResult | Promise<AccessResult> {
    const { route } = exchange;
    const unavailable = route._sluice?.unavailable;
    if (unavailable !== undefined) return { answer: errorAnswer("closed", unavailable) };
    const fault = checkProtocol(exchange);
    if (fault !== null) return { answer: fault };
    return this.#runFrom(0, exchange);
  }

  /**
   * Builds a response of the gateway itself, logs its reason, and keeps the reason for observers of the exchange.
   *
   * @param cause The error of the upstream that led to this response. Default null: there was none
   */
  createAnswer(
    exchange: LiveExchange,
    answer: DirectResponse | GatewayErrorName,
    cause: Error | null = null,
  ): GatewayResponse {
    const { request } = exchange;
    const opensBySuccess = exchange.sender?.opensBySuccess === true;
    const response = finalResponse(typeof answer === "string" ? gatewayErrors[answer] : answer, opensBySuccess);
    if (typeof response.reason === "string") this.#tellReason(exchange, response.status, response.reason);
    exchange.ownReason = response.reason ?? responseReason(answer, cause);
    exchange.restoreResponseEdits();
    exchange.source = "gateway";
    const { started } = exchange.timings;
    return createGatewayResponse(response, { style: this.style, id: exchange.id, request, started });
  }

  /**
   * Runs the phase `response` of the plugins, once for each exchange. Never rejects. Returns the response that replaces
   * the held one; null: every plugin kept it, or the exchange has ended or been answered during the phase.
   */
  async runResponsePhases(exchange: LiveExchange, held: HeldMessage): Promise<GatewayResponse | null> {
    const steps = stepsThatHold(exchange);
    exchange.chain = { ...exchange.chain, holdingSteps: null };
    exchange.beginHeldEdits();
    let message = held;
    let own: GatewayResponse | null = null;
    for (const step of steps) {
      let answer: DirectResponse | GatewayErrorName | undefined;
      try {
        answer = await runResponsePhase(step.phases, exchange, message);
      } catch (error) {
        if (exchange.status === 0) answer = this.#answerTo(exchange, error);
      }
      // A nonzero status means that the client has disconnected, or that its body was rejected.
      if (exchange.status !== 0) return null;
      if (answer === undefined) continue;
      exchange.currentStep = step;
      own = this.createAnswer(exchange, answer);
      exchange.beginHeldEdits();
      message = ownMessage(own);
    }
    exchange.endHeldEdits();
    exchange.responseHead = null;
    return own;
  }

  /**
   * Runs the phases `responseHeaders` and `responseBody` for one of the gateway's own responses, and returns the
   * response with the body that is sent. `ownHeaders` returns the headers that are sent.
   */
  complete(exchange: LiveExchange, own: GatewayResponse): GatewayResponse {
    if (exchange.chain.bodySteps !== null) return this.#filtered(exchange, own);
    this.#respond(exchange, own);
    exchange.responseBegan = performance.now();
    return own;
  }

  /** The headers of a response that `complete` has returned, after the plugins' edits. The log phase gets them too. */
  ownHeaders(exchange: LiveExchange, { headers, isKept }: GatewayResponse): readonly string[] {
    const sent = isKept ? clientHeaders(exchange, headers, this.style) : exchange.applyResponseEdits(headers);
    if (exchange.chain.hasLog) exchange.sentHead = sent;
    return sent;
  }

  /** Headers for the upstream as a flat list: name, value, name, value. The engine adds connection headers. */
  upstreamHeaders(exchange: LiveExchange): readonly string[] {
    return upstreamHeaders(exchange, this.style);
  }

  /** Runs the phase `responseHeaders`, once the head of the upstream's response has arrived. */
  respond(exchange: LiveExchange, head: ResponseHead): void {
    const { status } = head;
    exchange.timings.answered ??= performance.now();
    exchange.source = "service";
    if (exchange.lacksBody && status !== 204 && status !== 304) exchange.responseHeaders.set("Content-Length", "0");
    this.#respond(exchange, head);
  }

  /**
   * Returns the response to send after a body filter failed, or after a plugin replaced the response in the phase
   * `responseBody`. Body filters do not run for the returned response.
   */
  filterFailed(exchange: LiveExchange, error: unknown): DirectResponse | GatewayErrorName {
    exchange.chain = { ...exchange.chain, bodySteps: null };
    return error instanceof ReplacedResponseError ? error.response : this.#answerTo(exchange, error);
  }

  /** The response to send after a plugin failed in the phase `response` or as a body filter. */
  #answerTo(exchange: LiveExchange, error: unknown): DirectResponse | GatewayErrorName {
    if (error instanceof BodyTooLongError) return errorAnswer("badUpstream", error.message);
    if (error instanceof ResponseBrokenError) return errorAnswer(error.fault, error.message);
    this.#logFailure(exchange, error);
    return "unexpected";
  }

  /** Returns the headers of the response to the client as a flat list, and keeps them for the log phase. */
  clientHeaders(exchange: LiveExchange, raw: RawHeaders): readonly string[] {
    const headers = clientHeaders(exchange, raw, this.style);
    if (exchange.chain.hasLog) exchange.sentHead = headers;
    return headers;
  }

  /** Ends the exchange, whether it succeeded or failed: runs the phase `log`, and tells the observer. */
  endExchange(exchange: LiveExchange): void {
    if (exchange.timings.ended !== undefined) return;
    exchange.timings.ended = performance.now();
    for (const { phases } of exchange.chain.steps) {
      try {
        this.#watch(exchange, phases.log?.(exchange));
      } catch (error) {
        this.#logFailure(exchange, error);
      }
    }
    if (this.#observer !== null) this.#observer.finished?.(exchange);
    const { exchanges } = exchange.runtime;
    if (--exchanges.open === 0 && exchanges.onIdle !== null) exchanges.onIdle();
  }

  #runFrom(first: number, exchange: LiveExchange): AccessResult | Promise<AccessResult> {
    try {
      for (let at = first; at < exchange.chain.steps.length; at++) {
        const step = exchange.chain.steps[at];
        if (step?.phases.access === undefined) continue;
        exchange.currentStep = step;
        const known = exchange.consumer;
        const answer = step.phases.access(exchange);
        if (answer instanceof Promise) return this.#resume(at, { answer, step, known, exchange });
        if (exchange.consumer !== known) applyConsumerPlugins(exchange, step);
        if (answer !== undefined) return { answer };
      }
      exchange.currentStep = null;
      return this.#forward(exchange);
    } catch (error) {
      return this.#failed(exchange, error);
    }
  }

  async #resume(
    at: number,
    options: {
      readonly answer: Promise<DirectResponse | undefined>;
      readonly step: PluginStep;
      readonly known: LiveExchange["consumer"];
      readonly exchange: LiveExchange;
    },
  ): Promise<AccessResult> {
    const { exchange, step, known } = options;
    try {
      const answer = await options.answer;
      if (exchange.consumer !== known) applyConsumerPlugins(exchange, step);
      return answer === undefined ? await this.#runFrom(at + 1, exchange) : { answer };
    } catch (error) {
      return this.#failed(exchange, error);
    }
  }

  #forward(exchange: LiveExchange): AccessResult {
    const { request, compiledRoute, match } = exchange;
    const { upstream, route } = compiledRoute;
    if (upstream === null) return { answer: "noService" };
    if (!mayCall(upstream.service, exchange)) return { answer: "needsHttp2" };
    if (upstream.headers !== null) for (const edit of upstream.headers) exchange.upstreamHeaders.apply(edit);
    const method = exchange.upstreamMethod;
    if (exchange.upstreamPath !== null) {
      return { forward: { upstream, method, path: escapePath(exchange.upstreamPath) + exchange.upstreamQuery } };
    }
    const joined = upstreamPath({
      base: upstream.basePath,
      path: request.path,
      matchedPath: match.matchedPath,
      strip: route.strip_path,
      handling: route.path_handling,
    });
    const path = request.target.plain ? joined : escapePath(joined);
    return { forward: { upstream, method, path: path + exchange.upstreamQuery } };
  }

  #failed(exchange: LiveExchange, error: unknown): AccessResult {
    // Not logged: any client could flood the log with this error.
    if (error instanceof BodyLostError) return { answer: "clientGone" };
    this.#logFailure(exchange, error);
    return { answer: "unexpected" };
  }

  #logFailure(exchange: LiveExchange, error: unknown): void {
    const { id, route } = exchange;
    const unlogged = this.#failures.allow(`${route.id} ${error}`);
    if (unlogged !== null) {
      const details = { err: error, requestId: id, route: route.name ?? route.id, ...(unlogged > 0 && { unlogged }) };
      this.#log.error(details, "a plugin failed");
    }
  }

  /** Logs the rejection of a phase that nothing awaits: TypeScript accepts an asynchronous one. */
  #watch(exchange: LiveExchange, result: unknown): void {
    if (result instanceof Promise) result.catch((error: unknown) => this.#logFailure(exchange, error));
  }

  /** Logs the reason for a response. Clients do not receive the reason: it shows how the gateway is configured. */
  #tellReason({ id, route, service }: LiveExchange, status: number, reason: string): void {
    const limiter = status >= FIRST_SERVER_ERROR ? this.#failures : this.#refusals;
    const unlogged = limiter.allow(`${route.id} ${reason}`);
    if (unlogged === null) return;
    const details = { requestId: id, route: route.name ?? route.id, service: service?.name ?? service?.id, reason };
    this.#log.warn({ ...details, ...(unlogged > 0 && { unlogged }) }, `a request was answered ${status}`);
  }

  /** Runs the phase `responseHeaders`. If a plugin throws, the error is only logged, and the request continues. */
  #respond(exchange: LiveExchange, head: ResponseHead): void {
    exchange.status = head.status;
    exchange.responseHead = head;
    for (const { phases } of exchange.chain.steps) {
      try {
        this.#watch(exchange, phases.responseHeaders?.(exchange));
      } catch (error) {
        this.#logFailure(exchange, error);
      }
    }
    if (exchange.debugTimings !== null) exchange.debugTimings.addHeaders(exchange);
    // The head is valid only until this method returns, because its memory is used again.
    exchange.responseHead = null;
  }

  /** Runs the phase `responseHeaders` and the body filters for one of the gateway's own responses. */
  #filtered(exchange: LiveExchange, own: GatewayResponse): GatewayResponse {
    exchange.saveResponseEdits();
    this.#respond(exchange, own);
    exchange.responseHead = own;
    try {
      const body = filteredBody(exchange, own);
      exchange.responseBegan = performance.now();
      return body === own.body ? own : { ...own, body };
    } catch (error) {
      return this.complete(exchange, this.createAnswer(exchange, this.filterFailed(exchange, error)));
    }
  }

  /** Builds the response to a request without an exchange, such as one whose head is too long or malformed. */
  refuse(
    name: GatewayErrorName,
    { peerAddress, request = null, started = performance.now() }: RefusedRequest,
  ): GatewayResponse {
    this.#onUnrouted(name);
    const id = newRequestId();
    const { status } = gatewayErrors[name];
    if (this.#observer !== null) {
      this.#observer.rejected?.({ id, name, status, request, peerAddress, duration: performance.now() - started });
    }
    const response = createGatewayResponse(gatewayErrors[name], { style: this.style, id, request, started });
    if (request === null || !this.#isDebugged(request)) return response;
    return { ...response, headers: [...response.headers, ...unroutedDebugHeaders(request, { id, started })] };
  }

  #isDebugged(request: IncomingRequest): boolean {
    const tokens = this.#debugTokens;
    return tokens?.hasAny === true && tokens.accepts(request.header(DEBUG_HEADER));
  }
}

/** Once this step has set a consumer, the plugins of the consumer and of its groups apply too. */
function applyConsumerPlugins(exchange: LiveExchange, step: PluginStep): void {
  const { chain, chains, consumer } = exchange;
  if (consumer === null) return;
  const next = chains.identified(consumer, step.priority);
  exchange.chain = chain === chains.base ? next : continuedChain(chain, step, next);
}
