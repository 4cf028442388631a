/** Where a service's requests go: to a balancer's targets, to a core Service's endpoints, or to the service's host. */
import { createHash } from "node:crypto";
import { isIP } from "node:net";
import type { IssuedCertificate, Service, ServiceEndpoint, ServiceExtras, SnapshotService } from "@sluice/model";
import { type HeaderEdit, headerValue, overrideHeaderEdit } from "@sluice/plugin-sdk";
import type { BalancingRequest } from "../balance/algorithms/hash-source.ts";
import type { Balancer } from "../balance/balancer.ts";
import { hostHeader, withoutPort } from "../balance/host-header.ts";
import { RetryBudget } from "../balance/retry-budget.ts";
import { BalancedAttempts, type TargetAttempts } from "../balance/target-attempts.ts";
import { endpointsForZone } from "../balance/zone-endpoints.ts";
import type { AttemptPolicy, ServiceUpstream, UpstreamInputs, UpstreamTarget } from "./runtime.ts";

/**
 * A service with a core Service behind it has that Service's endpoints as targets; an empty list means no targets. Any
 * other service has the targets of the upstream entity that its host names, or else one target: its host.
 *
 * @param previous the upstream that this one replaces; null: none
 */
export function createUpstream(parts: UpstreamInputs, previous: ServiceUpstream | null): ServiceUpstream {
  if (parts.balancer !== null) return new BalancedUpstream(parts, parts.balancer, previous);
  return new RoundRobinUpstream(parts, previous);
}

const SECURE: ReadonlySet<string> = new Set(["https", "grpcs", "tls"]);

const schemeOf = ({ protocol }: Service) => (SECURE.has(protocol) ? "https" : "http");

const nameOrNull = (host: string): string | null => (isIP(host) === 0 ? host : null);

/**
 * The endpoints that receive requests, without the fallback. Terminating endpoints receive requests only when there are
 * no other endpoints (KEP-1672).
 */
function servingEndpoints(endpoints: readonly ServiceEndpoint[], zone: string | null): readonly ServiceEndpoint[] {
  const normal = endpoints.filter((endpoint) => endpoint.fallback !== true);
  const staying = normal.filter((endpoint) => endpoint.terminating !== true);
  return endpointsForZone(staying.length > 0 ? staying : normal, zone);
}

type TargetAddress = Pick<UpstreamTarget, "host" | "port" | "serverName" | "hostHeader">;

/** Returns a function that creates the targets of one service. */
function targetsOf({ service, certificate, authorities }: UpstreamInputs): (place: TargetAddress) => UpstreamTarget {
  const scheme = schemeOf(service);
  const common = { scheme, service: service.id, connectTimeout: service.connect_timeout } as const;
  const verify = service.tls_verify !== false;
  const verifyDepth = service.tls_verify_depth;
  const shown = scheme === "https" ? certificate : null;
  const trusted = scheme === "https" && verify ? authorities : null;
  const trust = trusted?.map(({ cert_digest }) => cert_digest) ?? null;
  const tls = service._sluice?.tls;
  const policy = tls === undefined ? "" : ` ${digestOfText(JSON.stringify(tls))}`;
  const rest = `${common.connectTimeout} ${verify} ${verifyDepth} ${shown && digestOf(shown)} ${trust}${policy}`;
  const bundle = tls?.trusted_certificates;
  const pems = bundle === undefined ? (trusted?.map(({ cert }) => cert) ?? null) : [bundle];
  return ({ host, port, serverName: own, hostHeader }) => {
    const serverName = tls?.server_name ?? own;
    return {
      key: `${service.id} ${scheme} ${host} ${port} ${serverName} ${rest}`,
      ...common,
      host,
      port,
      verify,
      verifyDepth,
      authorities: pems,
      serverName,
      names: tls?.names ?? null,
      certificate: shown,
      hostHeader,
    };
  };
}

const digestOfText = (text: string): string => createHash("sha256").update(text).digest("hex");

const digests = new WeakMap<IssuedCertificate, string>();

/** Distinguishes certificates in connection keys without exposing them. */
function digestOf(certificate: IssuedCertificate): string {
  const { cert, key } = certificate;
  const digest = digests.get(certificate) ?? createHash("sha256").update(cert).update(key).digest("hex");
  digests.set(certificate, digest);
  return digest;
}

function editsOf({ upstream_headers: headers }: Service): readonly HeaderEdit[] | null {
  if (headers === null || headers.length === 0) return null;
  return headers.map(({ name, value }) => overrideHeaderEdit(name, headerValue(value)));
}

function attemptPolicyOf({ retry, timeouts }: ServiceExtras = {}): AttemptPolicy | null {
  if (retry === undefined && timeouts === undefined) return null;
  return {
    retry: retry === undefined ? null : { codes: new Set(retry.codes), backoff: retry.backoff },
    requestTimeout: timeouts?.request ?? null,
    attemptTimeout: timeouts?.attempt ?? null,
  };
}

/**
 * Whether the upstream speaks only gRPC. For other services, the content type of a request shows whether it is gRPC.
 */
export const isGrpcService = ({ protocol }: Pick<Service, "protocol">): boolean =>
  protocol === "grpc" || protocol === "grpcs";

/** Members that all upstreams share. */
abstract class BaseUpstream {
  readonly parts: UpstreamInputs;
  readonly service: SnapshotService;
  readonly policy: AttemptPolicy | null;
  readonly retryBudget: RetryBudget | null;
  readonly speaksHttp2: boolean;
  readonly basePath: string;
  readonly headers: readonly HeaderEdit[] | null;
  #keys: ReadonlySet<string> | undefined;

  constructor(parts: UpstreamInputs, previous: ServiceUpstream | null) {
    this.parts = parts;
    this.service = parts.service;
    this.policy = attemptPolicyOf(parts.service._sluice);
    this.retryBudget = RetryBudget.of(parts.service, previous === null ? null : previous.retryBudget);
    this.speaksHttp2 = isGrpcService(parts.service) || parts.service._sluice?.http2 === true;
    this.basePath = parts.service.path ?? "/";
    this.headers = editsOf(parts.service);
  }

  abstract readonly targets: readonly UpstreamTarget[];
  /** The target for requests while no other target can be reached; null: there is none. */
  abstract readonly fallback: UpstreamTarget | null;

  /** The keys of all targets and the fallback. Computed when a connection pool first looks for unused connections. */
  get keys(): ReadonlySet<string> {
    const { fallback } = this;
    this.#keys ??= new Set([...this.targets, ...(fallback === null ? [] : [fallback])].map(({ key }) => key));
    return this.#keys;
  }
}

/** Milliseconds between two requests that try an endpoint while no endpoint can be reached. */
const RETRY_INTERVAL = 10_000;

/**
 * Round-robin over targets. It has no state per request, so one object serves the tries of every request. When no
 * endpoint of a core Service accepts connections, requests go to the Service's own address: while no operator leads,
 * kube-proxy learns of new pods, but the gateway does not.
 */
class RoundRobinUpstream extends BaseUpstream implements ServiceUpstream, TargetAttempts<UpstreamTarget> {
  readonly host: string;
  readonly targets: readonly UpstreamTarget[];
  /** All targets stand for one name, so if one target fails, the others are expected to fail too. */
  readonly hasOtherTarget = false;
  readonly fallback: UpstreamTarget | null;
  #turn: number;
  /** Endpoints whose last try made no connection. Null instead of empty, so that a request only checks for null. */
  #unreached: Set<UpstreamTarget> | null = null;
  /** The time from which a request may try an endpoint again, by `performance.now()`. */
  #lookAt = 0;

  /** Continues the rotation of the previous upstream; otherwise the same target would be first after every change. */
  constructor(parts: UpstreamInputs, previous: ServiceUpstream | null) {
    super(parts, previous);
    const { service, endpoints, zone = null } = parts;
    this.host = hostHeader({ given: null, host: service.host, port: service.port, scheme: schemeOf(service) });
    const own = endpoints?.find((endpoint) => endpoint.fallback === true);
    const addresses =
      endpoints === null ? [{ address: service.host, port: service.port }] : servingEndpoints(endpoints, zone);
    const targetOf = targetsOf(parts);
    const serverName = nameOrNull(service.host);
    this.targets = addresses.map(({ address, port }) =>
      targetOf({ host: address, port, serverName, hostHeader: null }),
    );
    this.fallback =
      own === undefined ? null : targetOf({ host: own.address, port: own.port, serverName, hostHeader: null });
    this.#turn = previous instanceof RoundRobinUpstream ? previous.#turn : -1;
  }

  attempts(): TargetAttempts<UpstreamTarget> {
    return this;
  }

  next(): UpstreamTarget | null {
    if (this.targets.length === 0) return null;
    if (this.#unreached !== null && this.#areUnreached(this.#unreached)) return this.fallback;
    this.#turn = (this.#turn + 1) % this.targets.length;
    return this.targets[this.#turn] ?? null;
  }

  recordResponse(_status: number, place: UpstreamTarget | null): void {
    if (this.#unreached === null || place === null) return;
    this.#unreached.delete(place);
    if (this.#unreached.size === 0) this.#unreached = null;
  }

  unreachable(place: UpstreamTarget | null): void {
    if (this.fallback === null || place === null || place === this.fallback) return;
    this.#unreached ??= new Set();
    if (!this.#unreached.has(place)) this.#lookAt = performance.now() + RETRY_INTERVAL;
    this.#unreached.add(place);
  }

  #areUnreached({ size }: ReadonlySet<UpstreamTarget>): boolean {
    if (size < this.targets.length) return false;
    const now = performance.now();
    if (now < this.#lookAt) return true;
    this.#lookAt = now + RETRY_INTERVAL;
    return false;
  }

  failed(): void {}

  endTry(): void {}
}

/**
 * The targets of an upstream entity, and the endpoints of its core Services. The Host header is the target's name, or
 * for an endpoint the service's host, unless the upstream sets `host_header`.
 */
class BalancedUpstream extends BaseUpstream implements ServiceUpstream {
  readonly host: string;
  readonly targets: readonly UpstreamTarget[];
  readonly fallback = null;
  readonly #balancer: Balancer;

  constructor(parts: UpstreamInputs, balancer: Balancer, previous: ServiceUpstream | null) {
    super(parts, previous);
    const { service } = parts;
    const given = balancer.upstream.host_header;
    this.host = given ?? service.host;
    this.#balancer = balancer;
    const targetOf = targetsOf(parts);
    const scheme = schemeOf(service);
    this.targets = balancer.entries.map(({ member: { host, port, name: own, isEndpoint } }) => {
      const name = isEndpoint ? this.host : given;
      const serverName = nameOrNull(name === null ? own : withoutPort(name));
      // The ports of endpoints differ between core Services, so they are no part of the name.
      const called = isEndpoint ? null : hostHeader({ given, host: own, port, scheme });
      return targetOf({ host, port, serverName, hostHeader: called });
    });
  }

  attempts(view: BalancingRequest): TargetAttempts<UpstreamTarget> {
    return new BalancedAttempts(this.#balancer, this.targets, view);
  }
}
