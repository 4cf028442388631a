/** A running exchange: the plugins' view (`Exchange`) and the state of the pipeline and the engine. */
import type { Consumer, GraphqlDocuments, Service, SnapshotRoute } from "@sluice/model";
import {
  type DirectResponse,
  type Exchange,
  type ExchangeCredential,
  type ForwardAttempt,
  foldedName,
  HeaderEditList,
  type HeaderEdits,
  type Identities,
  type LogValue,
  type MessageInspector,
  type MirroredRequest,
  type Timings,
  type TransientBytes,
} from "@sluice/plugin-sdk";
import type {
  CompiledRoute,
  PluginChain,
  PluginStep,
  RouteChains,
  RouteMatch,
  Runtime,
  ServiceUpstream,
  UpstreamTarget,
} from "../../compile/runtime.ts";
import type { GatewayErrorName } from "../../exchange/gateway-errors.ts";
import { ClientBody } from "../client/client-body.ts";
import { DebugTimings } from "../debug/debug-timings.ts";
import { DEBUG_HEADER } from "../debug/debug-tokens.ts";
import { isIdentityName } from "../headers/header-names.ts";
import { headerText, type ResponseHead, rawHeaderValues } from "../headers/raw-headers.ts";
import { forgetLogRecord, logRecordOf } from "../observability/log-record/log-record.ts";
import type { IncomingRequest } from "./request.ts";
import { newRequestId } from "./request-id.ts";
import { checkedMethod, checkedQuery, queryParameterName } from "./request-target.ts";
import { RouteIdentities } from "./route-identities.ts";

/** Bytes read and written for the exchange so far, counted by the engine. */
export interface TrafficCounters {
  readonly bytesIn: number;
  readonly bytesOut: number;
}

/** The upstream, and the method and path of the request as they are sent to it. */
export interface ForwardPlan {
  readonly upstream: ServiceUpstream;
  readonly method: string;
  /** Path and query as they are sent. */
  readonly path: string;
}

/** Observes the attempts of an exchange. None of these methods throws. */
export interface AttemptObserver {
  /** Called when an attempt at `exchange.target` begins, before the upstream request is built. */
  tried?(exchange: LiveExchange, forward: ForwardPlan): void;
  /** Called when an attempt failed before a response arrived. Another attempt may follow. */
  failed?(exchange: LiveExchange, error: Error): void;
  /** Called when another attempt follows, and when the service's retry budget does not permit it (`isSent` is false). */
  retried?(exchange: LiveExchange, isSent: boolean): void;
}

/** Sends the response of an exchange. */
export interface ResponseSender {
  /** Whether the engine can send this client's requests to gRPC services if a plugin converts the trailers. */
  readonly reachesGrpc: boolean;
  /** Whether the client takes a 2xx for the agreement to a WebSocket (RFC 8441 section 5). */
  readonly opensBySuccess: boolean;
  /** Sends this response instead of the upstream's, or aborts a response whose head has been sent. */
  reject(answer: DirectResponse | GatewayErrorName): void;
  /** Prepares a copy of the request for another service. */
  mirror(request: MirroredRequest): void;
}

export class LiveExchange implements Exchange {
  readonly id = newRequestId();
  readonly request: IncomingRequest;
  /** The runtime that serves the exchange; it stays the same until the exchange ends. */
  readonly runtime: Runtime;
  readonly compiledRoute: CompiledRoute;
  readonly match: RouteMatch;
  readonly timings: { -readonly [Name in keyof Timings]: Timings[Name] };
  /** Plugin chains for the request's scheme. Replaced for a request whose plugins are timed. */
  chains: RouteChains;
  /** The plugin steps of the exchange, for all phases. Replaced when a plugin sets the consumer. */
  chain: PluginChain;
  consumer: Consumer | null = null;
  credential: ExchangeCredential | null = null;
  authenticatedGroups: readonly string[] | null = null;
  anonymous = false;
  convertsGrpc = false;
  messageInspector: MessageInspector | null = null;
  status = 0;
  source: "service" | "gateway" = "gateway";
  /** The human-readable reason for a response of the gateway itself; null: the gateway has not responded itself. */
  ownReason: string | null = null;
  /** Whether the client disconnected before a response began. The status is 499 then. */
  isAbandoned = false;
  /**
   * When the response began, by the clock of `timings`. Set only for the gateway's own responses, and for responses
   * that passed through plugins that act on responses. Undefined: the response began when the upstream's head arrived,
   * or it has not begun.
   */
  responseBegan: number | undefined = undefined;
  /** The plugin whose phase is running, or whose phase answered the request or failed; null: none. */
  currentStep: PluginStep | null = null;
  body: ClientBody | null;
  /** The upstream's protocol version, for Via. */
  upstreamVersion: "1.1" | "2" = "1.1";
  /** Status of a gRPC call; null: unknown, or not a gRPC call. */
  grpcStatus: number | null = null;
  /** Target of the last attempt; null before the first one, and when no target was left. */
  target: UpstreamTarget | null = null;
  tries = 0;
  /** Path and query of the last attempt; null before the first one. */
  forwardedTarget: string | null = null;
  /** The head that was sent to the client, if a plugin logs the exchange: its text, or a flat list of headers. */
  sentHead: string | readonly string[] | null = null;
  /** Error of the last failed attempt; null: no attempt has failed. */
  tryError: Error | null = null;
  /** Null: the client did not ask for the durations of the request's phases. */
  debugTimings: DebugTimings | null = null;
  /** Id of the exchange's trace; null until it has been determined. */
  traceId: string | null = null;
  /** Null: attempts are not observed. */
  observer: AttemptObserver | null;
  /** Set by the engine before the plugins run. */
  sender: ResponseSender | null = null;
  readonly #traffic: TrafficCounters;
  #upstreamEdits: HeaderEditList | null = null;
  #responseEdits: HeaderEditList | null = null;
  /** The response edits from before the response phases, restored if the response is replaced. Undefined: not saved. */
  #savedEdits: HeaderEditList | null | undefined;
  /** Head of the response; null while its headers cannot be read. */
  responseHead: ResponseHead | null = null;
  #removedQuery: Set<string> | null = null;
  #shared: Map<string, string | boolean> | null = null;
  /** Null until an attempt has failed. */
  #failedTries: ForwardAttempt[] | null = null;
  /** Set by `setLogField`. */
  logFields: Map<string, LogValue> | null = null;
  upstreamPath: string | null = null;
  /** The method set by a plugin; null: the client's method is forwarded. */
  #upstreamMethod: string | null = null;
  /** The query set by a plugin; null: the client's query is forwarded. */
  #upstreamQuery: string | null = null;

  constructor(options: {
    readonly request: IncomingRequest;
    readonly runtime: Runtime;
    readonly match: RouteMatch;
    readonly traffic: TrafficCounters;
    readonly started: number;
    readonly observer: AttemptObserver | null;
  }) {
    this.request = options.request;
    this.runtime = options.runtime;
    this.match = options.match;
    this.compiledRoute = options.match.compiledRoute;
    this.chains = this.compiledRoute.chains[this.request.scheme];
    this.chain = this.chains.base;
    this.body = options.request.head.body;
    this.#traffic = options.traffic;
    this.observer = options.observer;
    this.timings = { started: options.started, forwarded: undefined, answered: undefined, ended: undefined };
  }

  /** Times the plugins, for `Server-Timing`. The token that the client sent is not forwarded. */
  beginDebugTimings(): void {
    this.debugTimings = new DebugTimings(this.runtime.snapshot);
    this.chains = this.debugTimings.timed(this.chains);
    this.chain = this.chains.base;
    this.upstreamHeaders.remove(DEBUG_HEADER);
  }

  get route(): SnapshotRoute {
    return this.compiledRoute.route;
  }

  get service(): Service | null {
    return this.compiledRoute.upstream?.service ?? null;
  }

  get pathCaptures(): RouteMatch["captures"] {
    return this.match.captures;
  }

  get shared(): Map<string, string | boolean> {
    this.#shared ??= new Map();
    return this.#shared;
  }

  get identities(): Identities {
    return new RouteIdentities(this.runtime, this.route);
  }

  graphqlDocuments(nameOrId: string): GraphqlDocuments | undefined {
    return this.runtime.graphqlDocuments(nameOrId);
  }

  get upstreamHeaders(): HeaderEdits {
    this.#upstreamEdits ??= new HeaderEditList();
    return this.#upstreamEdits;
  }

  get responseHeaders(): HeaderEdits {
    this.#responseEdits ??= new HeaderEditList();
    return this.#responseEdits;
  }

  get bytesIn(): number {
    return this.#traffic.bytesIn;
  }

  get bytesOut(): number {
    return this.#traffic.bytesOut;
  }

  /** Starts an attempt at the target; null: no target is left. */
  beginTry(target: UpstreamTarget | null, forward: ForwardPlan): void {
    this.timings.forwarded = performance.now();
    this.target = target;
    this.forwardedTarget = forward.path;
    if (target === null) return;
    this.tries++;
    if (this.observer !== null) this.observer.tried?.(this, forward);
  }

  /** Called when the attempt has failed before a response arrived. */
  failTry(error: Error): void {
    this.tryError = error;
    if (this.target === null) return;
    this.#failedTries ??= [];
    this.#failedTries.push(this.#lastTry(this.target, true));
  }

  get attempts(): readonly ForwardAttempt[] {
    const failed = this.#failedTries ?? [];
    return this.target === null || failed.length >= this.tries
      ? failed
      : [...failed, this.#lastTry(this.target, false)];
  }

  #lastTry({ host, port }: UpstreamTarget, failed: boolean): ForwardAttempt {
    return { started: this.timings.forwarded ?? this.timings.started, host, port, failed };
  }

  setLogField(name: string, value: LogValue): void {
    this.logFields ??= new Map();
    this.logFields.set(name, value);
    forgetLogRecord();
  }

  logRecord(): string {
    return String(logRecordOf(this));
  }

  logRecordBytes(): TransientBytes {
    return logRecordOf(this);
  }

  upstreamHeaderValues(name: Lowercase<string>): readonly string[] {
    const edits = this.#upstreamEdits;
    const edit = edits?.editOf(name);
    const isHidden = edits?.replaces(name) === true || isIdentityName(foldedName(name));
    const sent = isHidden ? [] : this.request.headerValues(name);
    return edit === undefined ? sent : [...sent, ...edit.values];
  }

  responseHeaderValues(name: Lowercase<string>): readonly string[] {
    const edits = this.#responseEdits;
    const { responseHead } = this;
    const isHidden = responseHead === null || edits?.replaces(name) === true;
    const sent = isHidden ? [] : (responseHead.valuesOf?.(name) ?? rawHeaderValues(responseHead.headers, name));
    const edit = edits?.editOf(name);
    return edit === undefined ? sent : [...sent, ...edit.values];
  }

  get receivedHeaders(): readonly string[] {
    return this.responseHead?.headers.map(headerText) ?? [];
  }

  get upstreamMethod(): string {
    return this.#upstreamMethod ?? this.request.method;
  }

  set upstreamMethod(method: string) {
    this.#upstreamMethod = checkedMethod(method);
  }

  /** Whether the upstream sends no body although the client expects one: a plugin has changed the method to HEAD. */
  get lacksBody(): boolean {
    return this.#upstreamMethod === "HEAD" && this.request.method !== "HEAD";
  }

  /** The forwarded query with its `?`. */
  get upstreamQuery(): string {
    const removed = this.#removedQuery;
    const query = this.#upstreamQuery ?? this.request.query;
    if (removed === null || query.length < 2) return query;
    const kept = query
      .slice(1)
      .split("&")
      .filter((parameter) => !removed.has(queryParameterName(parameter)));
    return kept.length > 0 ? `?${kept.join("&")}` : "";
  }

  set upstreamQuery(query: string) {
    this.#upstreamQuery = checkedQuery(query);
    this.#removedQuery = null;
  }

  removeQuery(names: readonly string[]): void {
    this.#removedQuery ??= new Set();
    for (const name of names) this.#removedQuery.add(name);
  }

  limitBody(limit: number, refusal: DirectResponse): DirectResponse | undefined {
    const step = this.currentStep;
    const isWithin =
      this.body === null ||
      this.body.limit(limit, () => {
        this.currentStep = step;
        this.sender?.reject(refusal);
      });
    return isWithin ? undefined : refusal;
  }

  replaceBody(body: Buffer): void {
    if (this.body === null) {
      // The head of an upgrade request has no length, so bytes of a body would be read as data of the tunnel.
      if (this.request.header("upgrade") !== undefined) return;
      this.body = new ClientBody(0, () => {});
      this.body.end("");
    }
    this.body.replace(body);
  }

  inspectMessages(inspector: MessageInspector): void {
    this.messageInspector = inspector;
    this.upstreamHeaders.remove("Sec-WebSocket-Extensions");
  }

  mirror(request: MirroredRequest): void {
    this.sender?.mirror(request);
  }

  /**
   * Called before the phases `responseHeaders` and `responseBody`, in which a plugin may replace the response. Has no
   * effect while edits are already saved.
   */
  saveResponseEdits(): void {
    if (this.#savedEdits === undefined) this.#savedEdits = this.#responseEdits?.copy() ?? null;
  }

  /** Begins the phase `response`: saves the edits so far, and starts an empty list for the edits of the phase. */
  beginHeldEdits(): void {
    this.#savedEdits = this.#responseEdits;
    this.#responseEdits = null;
  }

  /** Ends the phase `response`: appends the saved edits to those of the phase, so the saved edits take precedence. */
  endHeldEdits(): void {
    const saved = this.#savedEdits;
    if (saved == null) return;
    this.#responseEdits ??= new HeaderEditList();
    this.#responseEdits.applyList(saved);
  }

  /** Called when another response replaces the current one: edits made for the current one are discarded. */
  restoreResponseEdits(): void {
    if (this.#savedEdits === undefined) return;
    this.#responseEdits = this.#savedEdits;
    this.#savedEdits = undefined;
  }

  /** Null, like `responseEdits`, if no plugin has made an edit. */
  get upstreamEdits(): HeaderEditList | null {
    return this.#upstreamEdits;
  }

  get responseEdits(): HeaderEditList | null {
    return this.#responseEdits;
  }

  applyUpstreamEdits(headers: readonly string[]): readonly string[] {
    return this.#upstreamEdits === null ? headers : this.#upstreamEdits.applyTo(headers);
  }

  /** Returns the client's trailers that are forwarded to the upstream. `lines` and the result are in wire format. */
  forwardedTrailers(lines: string): string {
    return this.#upstreamEdits === null || lines === "" ? lines : this.#upstreamEdits.passedLines(lines);
  }

  applyResponseEdits(headers: readonly string[]): readonly string[] {
    return this.#responseEdits === null ? headers : this.#responseEdits.applyTo(headers);
  }
}
