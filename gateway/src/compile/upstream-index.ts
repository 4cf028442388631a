/**
 * Upstreams by service. An upstream is built by the first request that needs it, and reused until one of its inputs
 * changes. So a change costs nothing here, however many services it affects.
 */
import { bucketDifferences, issuedOrNull, type Service, type Snapshot } from "@sluice/model/serving";
import { authoritiesOf, isSameAuthorities } from "./authorities.ts";
import type { Balancers } from "./balancers.ts";
import { GroupIndex } from "./identities/group-index.ts";
import type { ServiceUpstream, UpstreamIndex, UpstreamInputs, UpstreamTarget } from "./runtime.ts";
import { createUpstream } from "./upstream.ts";

type Sections = Pick<Snapshot, "services" | "endpoints" | "certificates" | "ca_certificates">;

/** An upstream, and the version of the latest `CompiledUpstreams` for which the upstream is known to be valid. */
interface CachedUpstream {
  readonly version: number;
  readonly upstream: ServiceUpstream;
}

interface UpstreamIndexOptions {
  readonly balancers: Balancers;
  readonly previous: CompiledUpstreams | null;
  /** The zone of the node, which never changes; null: unknown. */
  readonly zone: string | null;
}

let versions = 0;

export class CompiledUpstreams implements UpstreamIndex {
  readonly #sections: Sections;
  readonly #balancers: Balancers;
  readonly #zone: string | null;
  /** By service id; all versions share one map. */
  readonly #known: Map<string, CachedUpstream>;
  readonly #version = ++versions;
  /** Services by name. Built at the first lookup, because most nodes have no plugin that looks up services. */
  #names: GroupIndex<Service> | null = null;

  private constructor(
    sections: Sections,
    { balancers, zone }: Omit<UpstreamIndexOptions, "previous">,
    known: Map<string, CachedUpstream>,
  ) {
    this.#sections = sections;
    this.#balancers = balancers;
    this.#zone = zone;
    this.#known = known;
  }

  /** Returns the previous index when no input of an upstream changed. */
  static of(
    { services, endpoints, certificates, ca_certificates }: Sections,
    { balancers, previous, zone }: UpstreamIndexOptions,
  ): CompiledUpstreams {
    const sections = { services, endpoints, certificates, ca_certificates };
    if (previous === null) return new CompiledUpstreams(sections, { balancers, zone }, new Map());
    const before = previous.#sections;
    const isSame =
      previous.#balancers === balancers &&
      before.services === services &&
      before.endpoints === endpoints &&
      before.certificates === certificates &&
      before.ca_certificates === ca_certificates;
    if (isSame) return previous;
    const next = new CompiledUpstreams(sections, { balancers, zone }, previous.#known);
    const names = previous.#names;
    next.#names = names === null ? null : names.with(bucketDifferences(before.services, services));
    return next;
  }

  get(serviceId: string): ServiceUpstream | null {
    const known = this.#known.get(serviceId);
    if (known?.version === this.#version) return known.upstream;
    const parts = this.#partsOf(serviceId);
    if (parts === null) return null;
    const before = known?.upstream ?? null;
    const upstream = before !== null && isSame(before.parts, parts) ? before : createUpstream(parts, before);
    this.#known.set(serviceId, { version: this.#version, upstream });
    return upstream;
  }

  named(idOrName: string): ServiceUpstream | null {
    const { services } = this.#sections;
    this.#names ??= new GroupIndex<Service>(({ name }) => name ?? undefined).with(
      bucketDifferences(new Map(), services),
    );
    const id = services.has(idOrName) ? idOrName : this.#names.of(idOrName)[0]?.id;
    const upstream = id === undefined ? null : this.get(id);
    return upstream?.service.enabled ? upstream : null;
  }

  serves({ key, service }: UpstreamTarget): boolean {
    return this.get(service)?.keys.has(key) ?? false;
  }

  forget(serviceId: string): void {
    this.#known.delete(serviceId);
  }

  #partsOf(serviceId: string): UpstreamInputs | null {
    const { services, endpoints: addresses, certificates } = this.#sections;
    const service = services.get(serviceId);
    if (service === undefined) return null;
    const endpoints = addresses.get(serviceId) ?? null;
    // The endpoints of a core Service take precedence over an upstream with the service's host as its name.
    const balancer = (endpoints === null && this.#balancers.named(service.host)) || null;
    const own = issuedOrNull(certificates.get(service.client_certificate?.id ?? ""));
    const authorities = authoritiesOf(service.ca_certificates, this.#sections);
    const certificate = own ?? balancer?.certificate ?? null;
    return { service, endpoints, balancer, certificate, authorities, zone: this.#zone };
  }
}

const isSame = (before: UpstreamInputs, now: UpstreamInputs): boolean =>
  before.service === now.service &&
  before.endpoints === now.endpoints &&
  before.balancer === now.balancer &&
  before.certificate === now.certificate &&
  isSameAuthorities(before.authorities, now.authorities);
