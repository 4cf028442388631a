/** Balancers of all upstream entities. A change replaces only the balancers of the upstreams that it affects. */
import {
  BucketMap,
  bucketDifferences,
  emptySnapshot,
  hashOfId,
  issuedOrNull,
  type Service,
  type Snapshot,
  type Target,
  type Upstream,
} from "@sluice/model/serving";
import { Balancer, type HealthTransition, type HealthUpdate } from "../balance/balancer.ts";
import { noResolvedTargets, type ResolvedTargets } from "../balance/target-names.ts";
import { endpointsForZone } from "../balance/zone-endpoints.ts";
import { authoritiesOf, isSameAuthorities } from "./authorities.ts";
import { GroupIndex } from "./identities/group-index.ts";

export interface BalancerTools {
  /** Called when a target becomes healthy or unhealthy. */
  readonly onHealthTransition?: (transition: HealthTransition) => void;
  /** Called for every signal that changed a health state, and for manual changes. */
  readonly onHealthUpdate?: (update: HealthUpdate) => void;
  /** The current addresses of targets. Default: none are known. */
  readonly resolvedTargets?: () => ResolvedTargets;
  /** The zone of the node. Default: unknown. */
  readonly zone?: string | null;
}

type Sections = Pick<
  Snapshot,
  "upstreams" | "targets" | "upstream_endpoints" | "certificates" | "services" | "ca_certificates"
>;

interface BalancerIndexes {
  readonly sections: Sections;
  readonly resolvedTargets: ResolvedTargets;
  readonly byId: BucketMap<Balancer>;
  /** Upstreams by name. */
  readonly upstreams: GroupIndex<Upstream>;
  /** Targets by upstream id. */
  readonly targets: GroupIndex<Target>;
  /** Upstreams with a client certificate, by the certificate's id. */
  readonly showing: GroupIndex<Upstream>;
  /** Services by their host. */
  readonly services: GroupIndex<Service>;
}

export class Balancers {
  readonly #parts: BalancerIndexes;

  private constructor(parts: BalancerIndexes) {
    this.#parts = parts;
  }

  static readonly empty = new Balancers({
    sections: emptySnapshot,
    resolvedTargets: noResolvedTargets,
    byId: new BucketMap(hashOfId),
    upstreams: new GroupIndex(({ name }) => name),
    targets: new GroupIndex(({ upstream }) => upstream?.id),
    showing: new GroupIndex(({ client_certificate }) => client_certificate?.id),
    services: new GroupIndex(({ host }) => host),
  });

  /** The balancers, by upstream id. */
  get all(): ReadonlyMap<string, Balancer> {
    return this.#parts.byId;
  }

  named(name: string): Balancer | undefined {
    return this.all.get(this.#parts.upstreams.of(name)[0]?.id ?? "");
  }

  /** The balancers for these sections; the same object when neither the sections nor addresses have changed. */
  with(
    now: Sections,
    { onHealthTransition, onHealthUpdate, resolvedTargets: current, zone = null }: BalancerTools,
  ): Balancers {
    const { upstreams, targets, upstream_endpoints, certificates, services, ca_certificates } = now;
    const { sections, resolvedTargets: known, ...before } = this.#parts;
    const resolvedTargets = current?.() ?? noResolvedTargets;
    const changed = {
      upstreams: bucketDifferences(sections.upstreams, upstreams),
      targets: bucketDifferences(sections.targets, targets),
      endpoints: bucketDifferences(sections.upstream_endpoints, upstream_endpoints),
      certificates: bucketDifferences(sections.certificates, certificates),
    };
    const changedServices = bucketDifferences(sections.services, services);
    const isTrustSame = changedServices.length === 0 && sections.ca_certificates === ca_certificates;
    if (isTrustSame && known === resolvedTargets && Object.values(changed).every(({ length }) => length === 0))
      return this;
    const groups = {
      upstreams: before.upstreams.with(changed.upstreams),
      targets: before.targets.with(changed.targets),
      showing: before.showing.with(changed.upstreams),
      services: before.services.with(changedServices),
    };
    const touched = new Set([
      ...changed.upstreams.map(({ key }) => key),
      ...changed.endpoints.map(({ key }) => key),
      ...changed.targets
        .flatMap(({ before: left, after: entered }) => [left?.upstream?.id ?? [], entered?.upstream?.id ?? []])
        .flat(),
      ...upstreamsOfNames(changedNames(known, resolvedTargets), targets),
      ...changed.certificates.flatMap(({ key }) => groups.showing.of(key).map(({ id }) => id)),
    ]);
    const trust = (upstream: Upstream | undefined) => trustOf(groups.services.of(upstream?.name ?? ""), now);
    // CA certificates change rarely, so all services are scanned.
    const hosts = new Set([
      ...changedServices.flatMap(({ before: left, after: entered }) => [left?.host ?? [], entered?.host ?? []].flat()),
      ...(sections.ca_certificates === ca_certificates ? [] : services.values().map(({ host }) => host)),
    ]);
    for (const host of isTrustSame ? [] : hosts) {
      const [upstream] = groups.upstreams.of(host);
      const known = upstream && before.byId.get(upstream.id);
      if (known && !isSameTrust(known, trust(upstream))) touched.add(upstream.id);
    }
    const remade = [...touched].map((id): readonly [string, Balancer | undefined] => {
      const upstream = upstreams.get(id);
      const certificate = issuedOrNull(certificates.get(upstream?.client_certificate?.id ?? ""));
      const previous = before.byId.get(id) ?? null;
      const endpoints = endpointsForZone(upstream_endpoints.get(id) ?? [], zone);
      const parts = { targets: groups.targets.of(id), endpoints, resolvedTargets, certificate, ...trust(upstream) };
      const common = { previous, now: monotonic, onHealthTransition, onHealthUpdate };
      return [id, upstream && new Balancer({ upstream, ...parts, ...common })];
    });
    return new Balancers({
      sections: { upstreams, targets, upstream_endpoints, certificates, services, ca_certificates },
      resolvedTargets,
      byId: before.byId.with(remade),
      ...groups,
    });
  }
}

/** The names of targets whose addresses differ. */
function changedNames(before: ResolvedTargets, after: ResolvedTargets): ReadonlySet<string> {
  if (before === after) return new Set();
  const names = [...before.keys(), ...after.keys()];
  return new Set(names.filter((name) => before.get(name) !== after.get(name)));
}

/** Addresses change rarely, so all targets are scanned. */
const upstreamsOfNames = (names: ReadonlySet<string>, targets: ReadonlyMap<string, Target>): readonly string[] =>
  names.size === 0
    ? []
    : [...targets.values()].flatMap(({ target, upstream }) => (names.has(target) ? (upstream?.id ?? []) : []));

type Trust = Pick<Balancer, "authorities" | "trustsMachine">;

/**
 * The CAs that the health checks of an upstream trust: the CA certificates of all services that use the upstream, and
 * the machine's CAs if one of the services names no CA certificates, or no service uses the upstream. So a target that
 * one service trusts does not become unhealthy because another service names CA certificates.
 */
function trustOf(services: readonly Service[], snapshot: Pick<Snapshot, "ca_certificates">): Trust {
  const named = services.map(({ ca_certificates }) => ca_certificates ?? []);
  const authorities = authoritiesOf(named.flat(), snapshot);
  return { authorities, trustsMachine: authorities === null || named.some(({ length }) => length === 0) };
}

const isSameTrust = (one: Trust, other: Trust): boolean =>
  one.trustsMachine === other.trustsMachine && isSameAuthorities(one.authorities, other.authorities);

const monotonic = (): number => performance.now();
