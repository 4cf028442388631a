/** Upstreams: where the requests of a service go, and whose turn it is. */
import { isIP } from "node:net";
import type { Endpoint, Service } from "@sluice/model";
import type { Target, Upstream } from "../runtime/runtime.ts";

/** Without endpoints of its own (null) a service has one target, its host. An empty list is no target at all. */
export function upstreamOf(service: Service, endpoints: readonly Endpoint[] | null): Upstream {
  const scheme = SECURE.has(service.protocol) ? "https" : "http";
  const addresses = endpoints === null ? [{ address: service.host, port: service.port }] : inService(endpoints);
  const targets = addresses.map(({ address, port }): Target => {
    const common = {
      scheme,
      host: address,
      port,
      connectTimeout: service.connect_timeout,
      verify: service.tls_verify !== false,
      serverName: isIP(service.host) === 0 ? service.host : null,
    } as const;
    return { key: `${service.id} ${Object.values(common).join(" ")}`, ...common };
  });
  return new RoundRobin({ service, scheme, targets });
}

const SECURE: ReadonlySet<string> = new Set(["https", "grpcs", "tls", "tls_passthrough"]);

/** Terminating endpoints get requests only when no other is there (KEP-1672). */
function inService(endpoints: readonly Endpoint[]): readonly Endpoint[] {
  const staying = endpoints.filter((endpoint) => endpoint.terminating !== true);
  return staying.length > 0 ? staying : endpoints;
}

class RoundRobin implements Upstream {
  readonly service: Service;
  readonly basePath: string;
  readonly host: string;
  readonly targets: readonly Target[];
  #turn = -1;

  constructor(options: {
    readonly service: Service;
    readonly scheme: "http" | "https";
    readonly targets: readonly Target[];
  }) {
    const { service, scheme } = options;
    this.service = service;
    this.basePath = service.path ?? "/";
    const name = isIP(service.host) === 6 ? `[${service.host}]` : service.host;
    this.host = service.port === (scheme === "https" ? 443 : 80) ? name : `${name}:${service.port}`;
    this.targets = options.targets;
  }

  next(): Target | null {
    if (this.targets.length === 0) return null;
    this.#turn = (this.#turn + 1) % this.targets.length;
    return this.targets[this.#turn] ?? null;
  }
}
