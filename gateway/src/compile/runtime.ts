/** The runtime: the compiled form of a snapshot. Immutable to its readers; exchanges in flight keep their runtime. */
import type {
  CaCertificate,
  Consumer,
  DocumentListener,
  GraphqlDocuments,
  IssuedCertificate,
  ServiceEndpoint,
  Snapshot,
  SnapshotPlugin,
  SnapshotRoute,
  SnapshotService,
  StreamProtocol,
  UpstreamName,
} from "@sluice/model";
import type { HeaderEdit, PluginDefinition, PluginPhases } from "@sluice/plugin-sdk";
import type { BalancingRequest } from "../balance/algorithms/hash-source.ts";
import type { Balancer } from "../balance/balancer.ts";
import type { RetryBudget } from "../balance/retry-budget.ts";
import type { TargetAttempts } from "../balance/target-attempts.ts";
import type { InstanceCache } from "../plugin-caches/create-caches.ts";
import type { WorkerServices } from "../plugin-services/instance-context.ts";
import type { InstanceChanges, PluginInstance } from "../plugin-services/plugin-instance.ts";
import type { CertificateRequests } from "./certificate-requests.ts";
import type { Certificates } from "./certificates.ts";
import type { CompiledIdentities } from "./identities/identities.ts";
import type { AcmeChallenges } from "./listeners/acme-challenges.ts";
import type { ListenerTable } from "./listeners/listener-table.ts";

export type Scheme = "http" | "https";

/** The parts of a request that the router reads. `ExchangeRequest` implements it. */
export interface RoutableRequest {
  readonly method: string;
  /** Normalised path without query. */
  readonly path: string;
  readonly scheme: Scheme;
  /** Lower case, with its port if it has one; "" when the client sent no host. */
  readonly host: string;
  readonly serverName: string | null;
  /** With its `?`; "" when absent. */
  readonly query: string;
  /** The port of the document's listeners on which the request arrived; null: a listener of the node itself. */
  readonly documentPort: number | null;
  headerValues(name: Lowercase<string>): readonly string[];
}

export interface RouteMatch {
  readonly compiledRoute: CompiledRoute;
  /** Length of the part of the path that the route's path matched; 0 when the route has no paths. */
  readonly matchedPath: number;
  /** Groups of a regular-expression path, by number and, if named, by name; null for other paths. */
  readonly captures: Readonly<Record<string, string>> | null;
}

/** The attributes in the order in which they are examined. `service`: the route's service is disabled. */
export type RouteAttribute = "host" | "path" | "method" | "header" | "query" | "share" | "sni" | "service";

/**
 * The same for a connection. `host`: the server name is compared with the hosts of a route of the document's listeners.
 */
export type StreamAttribute = "protocol" | "host" | "sni" | "destination" | "source" | "service";

/** The first attribute of a route by which it does not match a request or a connection. */
export interface RouteMismatch {
  readonly attribute: RouteAttribute | StreamAttribute;
  /** A sentence for people. */
  readonly reason: string;
}

/** A route with one of its paths. Each path of a route has its own place in the order of precedence. */
export interface ExplainedRoute {
  readonly route: SnapshotRoute;
  /** As configured; null: the route has no paths. */
  readonly path: string | null;
  /** Null: the route matches the request. The first route that matches is chosen. */
  readonly mismatch: RouteMismatch | null;
  /** Why the chosen route takes precedence over this one, which matches too; null: it is chosen, or does not match. */
  readonly lostBecause: string | null;
}

export interface ExplainedRoutes {
  /** The routes that match, in order of precedence, and then the other routes, the nearest to a match first. */
  readonly nearest: readonly ExplainedRoute[];
  /** The number of the other routes; a route with several paths counts once for each path. */
  readonly others: number;
}

/** One address that requests of a service may go to. */
export interface UpstreamTarget {
  /** Targets with equal keys may share connections. The key contains everything that a connection depends on. */
  readonly key: string;
  readonly service: string;
  readonly scheme: "http" | "https";
  /** Name or address, IPv6 without brackets. */
  readonly host: string;
  readonly port: number;
  /** Milliseconds. */
  readonly connectTimeout: number;
  /** Whether an https target's certificate is verified. */
  readonly verify: boolean;
  /** Maximum number of intermediate CAs in a verified certificate chain; null: any number. */
  readonly verifyDepth: number | null;
  /** PEM certificates of the only CAs by which the certificate is verified; null: the CAs that the machine trusts. */
  readonly authorities: readonly string[] | null;
  /** Name for TLS (SNI and verification); null for an address, because SNI allows only names. */
  readonly serverName: string | null;
  /** Names of which a verified certificate must have one; null: it must be valid for the server name. */
  readonly names: readonly UpstreamName[] | null;
  /** Client certificate for an https target; null: none. */
  readonly certificate: IssuedCertificate | null;
  /** The target's own value of the Host header; null: `host` of the upstream applies. */
  readonly hostHeader: string | null;
}

/** The inputs of an upstream. The upstream is rebuilt when an input changes. */
export interface UpstreamInputs {
  readonly service: SnapshotService;
  /** Endpoints of the core Service behind this service; null: there is none. */
  readonly endpoints: readonly ServiceEndpoint[] | null;
  /** Balancer of the upstream entity that the service's host names; null: it names none, or there are endpoints. */
  readonly balancer: Balancer | null;
  readonly certificate: IssuedCertificate | null;
  /** The CA certificates of the service; null: none are named. */
  readonly authorities: readonly CaCertificate[] | null;
  /** The zone of the node, whose endpoints are preferred. Default: unknown. */
  readonly zone?: string | null;
}

/** Limits of attempts that Kong's members of a service do not express. */
export interface AttemptPolicy {
  /** Null: only failed connections are tried again, as for any service. */
  readonly retry: {
    /** The statuses of responses after which a request is sent again. */
    readonly codes: ReadonlySet<number>;
    /** The minimum of milliseconds between two attempts. */
    readonly backoff: number;
  } | null;
  /** Maximum milliseconds of a request with all its attempts; null: any. */
  readonly requestTimeout: number | null;
  /** Maximum milliseconds of each attempt; null: any. */
  readonly attemptTimeout: number | null;
}

export interface ServiceUpstream {
  readonly parts: UpstreamInputs;
  readonly service: SnapshotService;
  /** Null: there is none, as for every service that is not derived from a route of the Gateway API. */
  readonly policy: AttemptPolicy | null;
  /** Limits how many requests are sent again at the same time; null: only `retries` of the service does. */
  readonly retryBudget: RetryBudget | null;
  /** Whether all requests are sent over HTTP/2; for other services, only gRPC is. */
  readonly speaksHttp2: boolean;
  /** The service's path, at least `/`. */
  readonly basePath: string;
  /** Header edits applied last to every request (`upstream_headers`); null: none. */
  readonly headers: readonly HeaderEdit[] | null;
  /** Value of the Host header for targets without their own, with the port unless it is the protocol's default. */
  readonly host: string;
  readonly targets: readonly UpstreamTarget[];
  readonly keys: ReadonlySet<string>;
  attempts(view: BalancingRequest): TargetAttempts<UpstreamTarget>;
}

/** Upstreams, built at first use. */
export interface UpstreamIndex {
  /** The upstream of a service; null: there is no such service. */
  get(serviceId: string): ServiceUpstream | null;
  /** The upstream of a service by its id or name; null: there is no such service, or it is disabled. */
  named(idOrName: string): ServiceUpstream | null;
  /** Whether requests may still go to this target, which may come from an earlier runtime. */
  serves(target: UpstreamTarget): boolean;
}

export interface PluginStep {
  /** Id of the plugin. */
  readonly id: string;
  readonly priority: number;
  readonly phases: PluginPhases;
}

/** The dependencies of plugin instances. */
export interface PluginTools {
  /** The plugins of the node by name. */
  readonly plugins: ReadonlyMap<string, PluginDefinition>;
  readonly services: WorkerServices;
}

/** A step with an instance that is in no chain. */
export interface NewPluginStep {
  readonly step: PluginStep;
  /** Null: the plugin is unavailable, or the instance could not be created; the step answers 503. */
  readonly instance: PluginInstance | null;
}

/** Plugins that run for a request, high priority first. */
export interface PluginChain {
  readonly steps: readonly PluginStep[];
  /**
   * The steps with the phase `responseBody`. Null: no step has this phase or the phase `response`, so responses pass
   * without a further check.
   */
  readonly bodySteps: readonly PluginStep[] | null;
  /** The steps with the phase `response`, low priority first; null: none, or the phase has run. */
  readonly holdingSteps: readonly PluginStep[] | null;
  /** Whether a step has the phase `log`, so that the head of the response is kept. */
  readonly hasLog: boolean;
}

export interface RouteChains {
  /** The chain while no consumer is known, and for consumers without plugins of their own or of their groups. */
  readonly base: PluginChain;
  /**
   * The chain once the step with the priority `after` has found the consumer. Steps that already ran are kept; steps
   * with lower priorities are chosen again, because the consumer is known only after authentication.
   */
  identified(consumer: Consumer, after: number): PluginChain;
}

/** An enabled plugin whose scope includes a route. */
export interface PluginCandidate {
  readonly id: string;
  /** May be an unknown name if the plugin is marked unavailable. */
  readonly name: string;
  readonly protocols: SnapshotPlugin["protocols"];
}

/** The plugins that act on the connections of a route. */
export interface ConnectionPlugins {
  /** High priority first. */
  readonly steps: readonly PluginStep[];
  /** Why every connection is closed, and the id of the plugin that causes it; null: connections are not closed. */
  readonly closed: { readonly plugin: string; readonly reason: string } | null;
}

/** The chains by the request's scheme, because a plugin may act on one scheme only. */
export interface RoutePluginChains extends Readonly<Record<Scheme, RouteChains>> {
  readonly connections: ConnectionPlugins;
  /**
   * The plugins from which the chains are chosen, most specific first.
   *
   * @param consumer Null: plugins of consumers and of their groups are left out
   */
  candidates(consumer: Consumer | null): readonly PluginCandidate[];
}

export interface CompiledRoute {
  readonly route: SnapshotRoute;
  /** Null when the route has no service. */
  readonly upstream: ServiceUpstream | null;
  readonly chains: RoutePluginChains;
}

/** The parts of a request by which its listener is found. */
export type RequestDestination = Pick<RoutableRequest, "documentPort" | "host" | "serverName">;

/** The protocol of a connection that is not HTTP. */
export type ConnectionProtocol = StreamProtocol | "tcp";

/** One end of a connection; the address is in the form of `canonicalAddress`. */
export interface ConnectionEnd {
  readonly address: string;
  readonly port: number;
}

/** A connection to one of the node's stream listeners, as their routes match it. */
export interface StreamArrival {
  /** Whether the listener expects TLS. */
  readonly isTls: boolean;
  /** Null: no TLS, or the client sent none. */
  readonly serverName: string | null;
  readonly source: ConnectionEnd;
  /** The end of the node itself, whatever a PROXY header says. */
  readonly destination: ConnectionEnd;
}

/** A connection of which the routes are explained. */
export interface ExplainedArrival extends StreamArrival {
  /** The document's listener that takes the connection; null: a stream listener of the node. */
  readonly listener: DocumentListener | null;
}

/** A connection that is not HTTP. */
export interface ListenerStream {
  readonly protocol: ConnectionProtocol;
  /** The name of the document's listener; null: the connection came to a stream listener of the node. */
  readonly listener: string | null;
  /** Null: no route matches. */
  readonly route: SnapshotRoute | null;
}

/** The listeners of the document. */
export interface ListenerIndex {
  readonly table: ListenerTable;
  /**
   * Whether the listener of the request's host is not that of the server name in its TLS handshake. The client may send
   * the request again on another connection (status 421, RFC 9110 section 15.5.20).
   */
  isMisdirected(request: RequestDestination): boolean;
  /** The listener that serves the host; null: the request came to a listener of the node, or no listener serves it. */
  listenerFor(request: RequestDestination): DocumentListener | null;
  /**
   * Whether the listener for a server name (null: no SNI) takes connections that are not HTTP; null: it is for HTTP, or
   * there is no such listener.
   */
  streamAt(port: number, serverName: string | null): ListenerStream | null;
  /**
   * The certificate that a port of the document presents for a server name (null: no SNI); undefined: none. Of several
   * certificates, the oldest that covers the name is used, or else the oldest.
   */
  certificate(port: number, serverName: string | null): IssuedCertificate | undefined;
  /** The listener that serves a server name (null: no SNI) on a port of the document; null: none does. */
  atHandshake(port: number, serverName: string | null): DocumentListener | null;
}

/** The exchanges under way that use a runtime. */
export interface ExchangeCount {
  open: number;
  /** Called when the last exchange ends. Null while the runtime is the current one. */
  onIdle: (() => void) | null;
}

export interface Runtime {
  readonly snapshot: Snapshot;
  readonly identities: CompiledIdentities;
  readonly certificates: Certificates;
  /** Null while no certificate is ordered. */
  readonly challenges: AcmeChallenges | null;
  readonly certificateRequests: CertificateRequests;
  readonly listeners: ListenerIndex;
  /** The same object as long as no service, endpoints, certificate, CA certificate or balancer changes. */
  readonly upstreams: UpstreamIndex;
  /** The balancers of upstream entities, by upstream id. */
  readonly balancers: ReadonlyMap<string, Balancer>;
  readonly exchanges: ExchangeCount;
  /** The GraphQL documents with this name or id: the same object until they change. */
  graphqlDocuments(nameOrId: string): GraphqlDocuments | undefined;
  /** The phases of the instance of a plugin; null: there is none. */
  pluginPhases(pluginId: string): PluginPhases | null;
  /** The cache that the instance of a plugin has opened; null: none. */
  pluginCache(pluginId: string): InstanceCache<unknown> | null;
  /**
   * A new instance of an enabled plugin, which uses `tools` instead of the runtime's services; null: there is no such
   * plugin. The caller discards the instance.
   */
  newPluginStep(pluginId: string, tools: PluginTools): NewPluginStep | null;
  /**
   * Explains the result of `match`. Yields after each route, so that the caller can let other requests run in between.
   *
   * @param size Maximum number of routes in the result
   */
  explainRoutes(request: RoutableRequest, size: number): Generator<undefined, ExplainedRoutes>;
  /**
   * The same for `matchStream` or, with a listener of the document, for `listeners.streamAt`.
   *
   * @param size Maximum number of routes in the result
   */
  explainStream(arrival: ExplainedArrival, size: number): Generator<undefined, ExplainedRoutes>;
  /** The plugin instances in which this runtime differs from a previous one; all instances if `previous` is null. */
  instancesSince(previous: Runtime | null): InstanceChanges;
  /** The compiled route; null: there is no such route, or its service is disabled or missing. */
  compiledRoute(routeId: string): CompiledRoute | null;
  /** The route of a request by Kong's rules; null: none matches, or the request is misdirected. */
  match(request: RoutableRequest): RouteMatch | null;
  /** Why no route matches, unless the request is misdirected. */
  readonly unmatched: "noRoute" | "noConfiguration";
  /** The route of a connection to a stream listener of the node. */
  matchStream(arrival: StreamArrival): ListenerStream;
}
