/** An exchange while it runs: what plugins see of it (`Exchange`), and what the pipeline and an engine keep with it. */
import type { Consumer, Service, SnapshotCredential, SnapshotRoute } from "@sluice/model";
import type {
  CompiledRoute,
  PluginChain,
  RouteChains,
  RouteMatch,
  Runtime,
  UpstreamTarget,
} from "../../runtime/runtime.ts";
import { HeaderEditList } from "../headers/header-edits.ts";
import type { Observer } from "../observability/observer.ts";
import type { ForwardPlan } from "../pipeline.ts";
import type { Exchange, HeaderEdits, Identities, Timings } from "./exchange.ts";
import type { IncomingRequest } from "./request.ts";
import type { RequestBody } from "./request-body.ts";
import { newRequestId } from "./request-id.ts";

/** Bytes read and written for the exchange so far, counted by the engine. */
export interface TrafficCounters {
  readonly bytesIn: number;
  readonly bytesOut: number;
}

export class LiveExchange implements Exchange {
  readonly id = newRequestId();
  readonly request: IncomingRequest;
  /** The runtime that the exchange began with and ends with. */
  readonly runtime: Runtime;
  readonly compiledRoute: CompiledRoute;
  readonly match: RouteMatch;
  readonly timings: { -readonly [Name in keyof Timings]: Timings[Name] };
  /** Those of the request's scheme. */
  readonly chains: RouteChains;
  /** Steps that respond and log; those of access run from it too. */
  chain: PluginChain;
  consumer: Consumer | null = null;
  credential: SnapshotCredential | null = null;
  anonymous = false;
  status = 0;
  source: "service" | "gateway" = "gateway";
  body: RequestBody | null;
  /** What its upstream speaks, in the words of Via. */
  upstreamVersion: "1.1" | "2" = "1.1";
  /** Status of a gRPC call; null: not known, or no gRPC call. */
  grpcStatus: number | null = null;
  /** Where the last try went; null before the first, and when there was no target. */
  target: UpstreamTarget | null = null;
  tries = 0;
  /** Of the trace that the exchange is part of, as far as somebody has looked. */
  traceId: string | null = null;
  /** Null: no access log and no tracing. */
  readonly observer: Observer | null;
  readonly #traffic: TrafficCounters;
  #upstreamEdits: HeaderEditList | null = null;
  #responseEdits: HeaderEditList | null = null;
  #removedQuery: Set<string> | null = null;

  constructor(options: {
    readonly request: IncomingRequest;
    readonly runtime: Runtime;
    readonly match: RouteMatch;
    readonly traffic: TrafficCounters;
    readonly started: number;
    readonly observer: Observer | null;
  }) {
    this.request = options.request;
    this.runtime = options.runtime;
    this.match = options.match;
    this.compiledRoute = options.match.compiledRoute;
    this.chains = this.compiledRoute.chains[this.request.scheme];
    this.chain = this.chains.anonymous;
    this.body = options.request.head.body;
    this.#traffic = options.traffic;
    this.observer = options.observer;
    this.timings = { started: options.started, forwarded: undefined, answered: undefined, ended: undefined };
  }

  get route(): SnapshotRoute {
    return this.compiledRoute.route;
  }

  get service(): Service | null {
    return this.compiledRoute.upstream?.service ?? null;
  }

  get identities(): Identities {
    const { identities } = this.runtime;
    return {
      credential: (keyHash) => identities.credential(keyHash, this.compiledRoute.route),
      consumer: (idOrUsername) => identities.consumer(idOrUsername),
    };
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

  /** Starts a try; null: there is no target left. */
  beginTry(target: UpstreamTarget | null, forward: ForwardPlan): void {
    this.timings.forwarded = performance.now();
    this.target = target;
    if (target === null) return;
    this.tries++;
    if (this.observer !== null) this.observer.tried?.(this, forward);
  }

  removeQuery(names: readonly string[]): void {
    this.#removedQuery ??= new Set();
    for (const name of names) this.#removedQuery.add(name);
  }

  replaceBody(body: Buffer): void {
    if (this.body === null) return;
    this.body.replace(body);
  }

  /** The query that is forwarded, with its `?`. */
  get forwardedQuery(): string {
    const removed = this.#removedQuery;
    const { query } = this.request;
    if (removed === null || query.length < 2) return query;
    const kept = query
      .slice(1)
      .split("&")
      .filter((parameter) => !removed.has(parameterName(parameter)));
    return kept.length > 0 ? `?${kept.join("&")}` : "";
  }

  /** Null when no plugin has made any. */
  get upstreamEdits(): HeaderEditList | null {
    return this.#upstreamEdits;
  }

  /** Null when no plugin has made any. */
  get responseEdits(): HeaderEditList | null {
    return this.#responseEdits;
  }

  applyUpstreamEdits(headers: readonly string[]): readonly string[] {
    return this.#upstreamEdits === null ? headers : this.#upstreamEdits.applyTo(headers);
  }

  /** Of the client's trailers (lines of a head) those that the upstream gets. */
  forwardedTrailers(lines: string): string {
    return this.#upstreamEdits === null || lines === "" ? lines : this.#upstreamEdits.passedLines(lines);
  }

  applyResponseEdits(headers: readonly string[]): readonly string[] {
    return this.#responseEdits === null ? headers : this.#responseEdits.applyTo(headers);
  }
}

function parameterName(parameter: string): string {
  const name = parameter.split("=", 1)[0] ?? "";
  try {
    return decodeURIComponent(name.replaceAll("+", " "));
  } catch {
    return name;
  }
}
