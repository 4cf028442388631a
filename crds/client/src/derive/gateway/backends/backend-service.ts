/** The Service for the backends of a rule, with TLS if they have a BackendTLSPolicy. */
import { isDeepStrictEqual } from "node:util";
import type { ServiceExtras, UpstreamTls } from "@sluice/model";
import type { Resource } from "../../../resource.ts";
import type { DerivedContent } from "../../derived-resource.ts";
import { type DerivedBackend, serviceContents } from "../../derived-services.ts";
import { type ConditionFinding, falseFinding } from "../gateway-api.ts";
import type { CertificateName } from "./backend-certificate.ts";
import type { UsableBackend } from "./backends.ts";

export interface BackendServiceRequest {
  /** The name of the Service. */
  readonly name: string;
  readonly backends: readonly [UsableBackend, ...UsableBackend[]];
  /** Without TLS. */
  readonly protocol: "http" | "grpc";
  /** The client certificate; undefined: none. */
  readonly certificate: CertificateName | undefined;
  /** Further members of the Service, and of its `_sluice`. */
  readonly members?: object;
  readonly extras?: ServiceExtras;
  /** The path of the backends in the route. */
  readonly source: string;
}

export function backendService(route: Resource, request: BackendServiceRequest): readonly DerivedContent[] {
  const { name, backends, protocol, certificate, members, extras, source } = request;
  const [first, ...others] = backends;
  const { tls, http2 } = first;
  const service = {
    protocol: tls ? `${protocol}s` : protocol,
    ...(tls && { tlsVerify: true }),
    ...(certificate && { clientCertificateRef: certificate }),
    ...members,
  };
  const written = (one: UsableBackend) => withoutDefaults(one, route.metadata.namespace);
  return serviceContents(
    route,
    {
      name,
      backends: [written(first), ...others.map(written)],
      service,
      serviceExtras: { ...extras, ...(tls && { tls }), ...(http2 && { http2 }) },
      upstream: null,
      source,
    },
    { checkedReferences: ["CoreService", "Certificate"] },
  );
}

/** How all backends are verified (undefined: they have no TLS), or why they cannot have one Service. */
export function commonTls(
  backends: readonly UsableBackend[],
  path: string,
): { readonly tls: UpstreamTls | undefined; readonly fault?: ConditionFinding } {
  const tls = backends[0]?.tls;
  if (backends.every((one) => isDeepStrictEqual(one.tls, tls))) return { tls };
  const message = `${path}: the BackendTLSPolicies of the backends differ: use a rule for each`;
  return { tls, fault: falseFinding("UnsupportedValue", message) };
}

/** Parts of the names of resources that are derived for one client certificate. */
export const certificateParts = (certificate: CertificateName | undefined): readonly string[] =>
  certificate ? [certificate.namespace, certificate.name] : [];

function withoutDefaults({ namespace, tls: _, http2: __, ...backend }: UsableBackend, own: string): DerivedBackend {
  return namespace === undefined || namespace === own ? backend : { namespace, ...backend };
}
