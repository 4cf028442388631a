/** The runtime: what `compile` makes of a snapshot. Immutable to its readers; in-flight exchanges keep theirs. */
import type {
  Certificate,
  Consumer,
  Endpoint,
  Service,
  Snapshot,
  SnapshotCredential,
  SnapshotRoute,
} from "@sluice/model";
import type { Balancer } from "../balance/balancer.ts";
import type { BalancingRequest } from "../balance/hash-source.ts";
import type { TargetAttempts } from "../balance/target-attempts.ts";
import type { PluginInstance } from "../plugins/plugin.ts";
import type { HeaderEdit } from "../proxy/exchange/exchange.ts";

export type Scheme = "http" | "https";

/** What the router looks at. `ExchangeRequest` is one. */
export interface RoutableRequest {
  readonly method: string;
  /** Normalised path without query. */
  readonly path: string;
  readonly scheme: Scheme;
  /** Lower case, with its port if it has one; "" when the client sent none. */
  readonly host: string;
  readonly serverName: string | null;
  headerValues(name: Lowercase<string>): readonly string[];
}

export interface RouteMatch {
  readonly compiledRoute: CompiledRoute;
  /** Length of the part of the path that the route's path matched; 0 when the route has no paths. */
  readonly matchedPath: number;
  /** Named groups of a regular-expression path. */
  readonly captures: Readonly<Record<string, string>> | null;
}

/** One address that requests of a service may go to. */
export interface UpstreamTarget {
  /** Equal keys may share connections. Everything that a connection depends on is in it. */
  readonly key: string;
  /** The id of the service whose requests go there. */
  readonly service: string;
  readonly scheme: "http" | "https";
  /** Name or address, IPv6 without brackets. */
  readonly host: string;
  readonly port: number;
  /** Milliseconds. */
  readonly connectTimeout: number;
  /** Whether an https target's certificate is verified. */
  readonly verify: boolean;
  /** Name for TLS (SNI and verification); null for an address, which SNI does not know. */
  readonly serverName: string | null;
  /** What an https target is shown when it asks who is there; null: nothing. */
  readonly certificate: Certificate | null;
  /** The target's own value of the Host header; null: the upstream's. */
  readonly hostHeader: string | null;
}

/** What an upstream is made of. As long as they are the same, it is. */
export interface UpstreamInputs {
  readonly service: Service;
  /** Of the core Service that the service stands for; null: it stands for none. */
  readonly endpoints: readonly Endpoint[] | null;
  /** Of the upstream entity that the service's host names; null: there is none. */
  readonly balancer: Balancer | null;
  /** The client certificate. */
  readonly certificate: Certificate | null;
}

/** Where the requests of a service go. */
export interface ServiceUpstream {
  readonly parts: UpstreamInputs;
  readonly service: Service;
  /** The service's path, at least `/`. */
  readonly basePath: string;
  /** What every request's headers get last (`upstream_headers`); null: nothing. */
  readonly headers: readonly HeaderEdit[] | null;
  /** Value of the Host header, with the port when it is not the protocol's own. */
  readonly host: string;
  readonly targets: readonly UpstreamTarget[];
  /** The keys of the targets. */
  readonly keys: ReadonlySet<string>;
  /** A request's way through the targets. */
  attempts(view: BalancingRequest): TargetAttempts<UpstreamTarget>;
}

/** Upstreams, made at first use. */
export interface UpstreamIndex {
  /** Where the requests of a service go; null: there is no such service. */
  get(serviceId: string): ServiceUpstream | null;
  /** Whether requests may still go to this target, which may be an earlier runtime's. */
  serves(target: UpstreamTarget): boolean;
}

/** One plugin in a chain. */
export interface PluginStep {
  readonly priority: number;
  readonly instance: PluginInstance;
}

/** Plugins that run for a request, high priority first. */
export type PluginChain = readonly PluginStep[];

/** Chains of one route. */
export interface RouteChains {
  /** While no consumer is known. */
  readonly anonymous: PluginChain;
  /**
   * After the step with this priority found the consumer: the steps that ran stay, the ones below are chosen anew
   * (the consumer is known only after authentication ran).
   */
  identified(consumer: Consumer, after: number): PluginChain;
}

export interface CompiledRoute {
  readonly route: SnapshotRoute;
  /** Null when the route has no service. */
  readonly upstream: ServiceUpstream | null;
  /** By the request's scheme, because a plugin may act on one of them only. */
  readonly chains: Readonly<Record<Scheme, RouteChains>>;
}

/** Consumers and credentials, indexed for authentication. */
export interface IdentityIndex {
  /** The unexpired credential with this SHA-256 (hex) of the key that opens the route. */
  credential(keyHash: string, route: SnapshotRoute): SnapshotCredential | undefined;
  consumer(idOrUsername: string): Consumer | undefined;
}

/** Certificates by the server names that they stand for. */
export interface CertificateIndex {
  /** What to show to a client that asks for this server name (null: for none); undefined when there is nothing. */
  find(serverName: string | null): Certificate | undefined;
}

export interface Runtime {
  readonly snapshot: Snapshot;
  readonly identities: IdentityIndex;
  readonly certificates: CertificateIndex;
  /** The same object as long as no upstream changes. */
  readonly upstreams: UpstreamIndex;
  /** Of upstream entities, by id. */
  readonly balancers: ReadonlyMap<string, Balancer>;
  /** What requests of a route meet; null: there is no such route, or its service is disabled. */
  compiledRoute(routeId: string): CompiledRoute | null;
  /** The route that wins by Kong's precedence. */
  match(request: RoutableRequest): RouteMatch | null;
}
