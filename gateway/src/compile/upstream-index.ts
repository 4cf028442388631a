/**
 * Where services' requests go. An upstream is made when the first request asks for it, and serves from change to change
 * as long as nothing that it is made of has changed: so a change costs nothing here, however many services it touches.
 */
import type { Snapshot } from "@sluice/model";
import type { ServiceUpstream, UpstreamIndex, UpstreamInputs, UpstreamTarget } from "../runtime/runtime.ts";
import type { Balancers } from "./balancers.ts";
import { createUpstream } from "./upstream.ts";

type Sections = Pick<Snapshot, "services" | "endpoints" | "certificates">;

/** An upstream, and the version for which it was last found to be right. */
interface CachedUpstream {
  version: number;
  upstream: ServiceUpstream;
}

let versions = 0;

export class CompiledUpstreams implements UpstreamIndex {
  readonly #sections: Sections;
  readonly #balancers: Balancers;
  /** By service id; shared with the versions before and after. */
  readonly #known: Map<string, CachedUpstream>;
  readonly #version = ++versions;

  private constructor(sections: Sections, balancers: Balancers, known: Map<string, CachedUpstream>) {
    this.#sections = sections;
    this.#balancers = balancers;
    this.#known = known;
  }

  static of({ services, endpoints, certificates }: Sections, balancers: Balancers): CompiledUpstreams {
    return new CompiledUpstreams({ services, endpoints, certificates }, balancers, new Map());
  }

  /** These when nothing has changed that an upstream is made of. */
  with({ services, endpoints, certificates }: Sections, balancers: Balancers): CompiledUpstreams {
    const before = this.#sections;
    const isSame =
      this.#balancers === balancers &&
      before.services === services &&
      before.endpoints === endpoints &&
      before.certificates === certificates;
    return isSame ? this : new CompiledUpstreams({ services, endpoints, certificates }, balancers, this.#known);
  }

  get(serviceId: string): ServiceUpstream | null {
    const known = this.#known.get(serviceId);
    if (known?.version === this.#version) return known.upstream;
    const parts = this.#partsOf(serviceId);
    if (parts === null) return null;
    if (known === undefined) {
      const upstream = createUpstream(parts, null);
      this.#known.set(serviceId, { version: this.#version, upstream });
      return upstream;
    }
    known.version = this.#version;
    if (!isSame(known.upstream.parts, parts)) known.upstream = createUpstream(parts, known.upstream);
    return known.upstream;
  }

  serves({ key, service }: UpstreamTarget): boolean {
    return this.get(service)?.keys.has(key) ?? false;
  }

  /** Of a service that is gone. */
  forget(serviceId: string): void {
    this.#known.delete(serviceId);
  }

  #partsOf(serviceId: string): UpstreamInputs | null {
    const { services, endpoints: addresses, certificates } = this.#sections;
    const service = services.get(serviceId);
    if (service === undefined) return null;
    const endpoints = addresses.get(serviceId) ?? null;
    // A core Service has targets already.
    const balancer = (endpoints === null && this.#balancers.named(service.host)) || null;
    const own = certificates.get(service.client_certificate?.id ?? "");
    return { service, endpoints, balancer, certificate: own ?? balancer?.certificate ?? null };
  }
}

const isSame = (before: UpstreamInputs, now: UpstreamInputs): boolean =>
  before.service === now.service &&
  before.endpoints === now.endpoints &&
  before.balancer === now.balancer &&
  before.certificate === now.certificate;
