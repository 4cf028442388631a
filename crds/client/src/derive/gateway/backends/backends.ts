/** The backends of a rule: core Services, each with its part of the requests. */
import type { UpstreamTls } from "@sluice/model";
import type { Resource } from "../../../resource.ts";
import type { TranslateOptions } from "../../../translate/translation.ts";
import type { DerivedBackend } from "../../derived-services.ts";
import {
  type BackendReference,
  type ConditionFinding,
  falseFinding,
  type RouteKind,
  withArticle,
} from "../gateway-api.ts";
import type { DerivedBackendTls } from "../policies/backend-tls.ts";
import { filtersWithPaths, type LocatedFilter } from "../routes/rule-effects.ts";

export interface BackendLookups extends Pick<TranslateOptions, "read" | "isReferenceAllowed"> {
  /**
   * The BackendTLSPolicy for a port of a core Service. Undefined: there is none, and the port has the protocol of the
   * route without TLS.
   */
  readonly backendTlsOf: (
    service: { readonly namespace: string; readonly name: string },
    portName: string | undefined,
  ) => Pick<DerivedBackendTls, "tls"> | undefined;
}

/** A backend that can be used. */
export interface UsableBackend extends DerivedBackend {
  /** Undefined: connections are not secured by TLS. */
  readonly tls: UpstreamTls | undefined;
  /** Whether requests that are not gRPC are sent over HTTP/2 too. */
  readonly http2: boolean;
}

/** A backend with a part of the requests. */
export interface RuleBackend extends UsableBackend {
  readonly weight: number;
  readonly filters: readonly LocatedFilter[];
}

export interface RuleBackends {
  /** The backends that can be used and receive a part of the requests. */
  readonly usable: readonly RuleBackend[];
  /** The percentage of the requests that is for other backends, and is therefore answered with 500: from 0 to 100. */
  readonly refusedPercentage: number;
  /** The condition ResolvedRefs, if a reference cannot be resolved. */
  readonly faults: readonly ConditionFinding[];
}

export interface BackendPlace {
  /** The kind and the namespace of the route. */
  readonly kind: RouteKind;
  readonly namespace: string;
  /** The path in the route. */
  readonly path: string;
}

export function backendsOf(
  refs: readonly BackendReference[],
  place: BackendPlace,
  lookups: BackendLookups,
): RuleBackends {
  const usable: RuleBackend[] = [];
  const faults: ConditionFinding[] = [];
  let refusedWeight = 0;
  for (const [index, ref] of refs.entries()) {
    const { weight = 1, filters } = ref;
    const path = `${place.path}[${index}]`;
    const { backend, fault } = resolveBackend(ref, { ...place, path }, lookups);
    if (fault) faults.push(fault);
    if (weight === 0) continue;
    if (backend) usable.push({ ...backend, weight, filters: filtersWithPaths(filters, `${path}.filters`) });
    else refusedWeight += weight;
  }
  const total = totalWeight(usable) + refusedWeight;
  return { usable, refusedPercentage: total === 0 ? 0 : (refusedWeight / total) * 100, faults };
}

export const totalWeight = (backends: readonly { readonly weight: number }[]): number =>
  backends.reduce((sum, { weight }) => sum + weight, 0);

export interface ResolvedBackend {
  /** Undefined: the backend gets no requests. */
  readonly backend?: UsableBackend;
  /** The condition ResolvedRefs, if the reference cannot be resolved. */
  readonly fault?: ConditionFinding;
}

export function resolveBackend(ref: BackendReference, place: BackendPlace, lookups: BackendLookups): ResolvedBackend {
  const { namespace = place.namespace, name, port } = ref;
  const fault = backendFault(ref, place, lookups);
  if (fault) return { fault };
  const service = { namespace, name };
  const { name: portName, appProtocol } = portNumbered(lookups.read("CoreService", namespace, name), port) ?? {};
  const policy = lookups.backendTlsOf(service, portName);
  const unsupported = protocolFault({ appProtocol, hasTls: policy !== undefined }, place);
  if (unsupported) return { fault: unsupported };
  // An upstream that cannot be verified gets no requests.
  if (port === undefined || (policy && !policy.tls)) return {};
  const http2 = place.kind === "HTTPRoute" && appProtocol === HTTP2 && !policy;
  return { backend: { ...service, port, tls: policy?.tls, http2 } };
}

// Kubernetes' names of application protocols (GEP-1911).
const HTTP2 = "kubernetes.io/h2c";
const WEBSOCKET = "kubernetes.io/ws";
const SECURE_WEBSOCKET = "kubernetes.io/wss";

/** The condition ResolvedRefs of a backend with a protocol that a route of the kind cannot use. */
function protocolFault(
  { appProtocol, hasTls }: { readonly appProtocol: string | undefined; readonly hasTls: boolean },
  { kind, path }: BackendPlace,
): ConditionFinding | undefined {
  const isWebSocket = appProtocol === WEBSOCKET || appProtocol === SECURE_WEBSOCKET;
  const unsupported = (advice: string) =>
    falseFinding("UnsupportedProtocol", `${path}: the port has the appProtocol ${appProtocol}: ${advice}`);
  if (isWebSocket && kind === "GRPCRoute") return unsupported("use an HTTPRoute");
  if (appProtocol === SECURE_WEBSOCKET && kind === "HTTPRoute" && !hasTls)
    return unsupported("create a BackendTLSPolicy for it");
  return undefined;
}

function backendFault(
  { group = "", kind = "Service", namespace: given, name, port }: BackendReference,
  { kind: from, namespace: own, path }: BackendPlace,
  { read, isReferenceAllowed }: Pick<TranslateOptions, "read" | "isReferenceAllowed">,
): ConditionFinding | undefined {
  if (group !== "" || kind !== "Service")
    return falseFinding(
      "InvalidKind",
      `${path}: the kind ${kind} of ${group || "v1"} is not supported: use a core Service`,
    );
  const namespace = given ?? own;
  const to = { kind: "CoreService", namespace, name } as const;
  if (namespace !== own && !isReferenceAllowed({ from: { kind: from, namespace: own }, to }))
    return falseFinding(
      "RefNotPermitted",
      `${path}: the namespace ${namespace} does not allow ${withArticle(from)} of the namespace ${own} to refer to its core ` +
        `Service ${name}: create a ReferenceGrant there`,
    );
  const service = read("CoreService", namespace, name);
  if (!service)
    return falseFinding("BackendNotFound", `${path}: there is no core Service ${name} in the namespace ${namespace}`);
  if (portNumbered(service, port)) return undefined;
  return falseFinding("BackendNotFound", `${path}: the core Service ${name} has no port ${port}`);
}

interface ServicePort {
  readonly name?: string;
  readonly port?: number;
  /** Default: TCP. */
  readonly protocol?: string;
  readonly appProtocol?: string;
}

/** The TCP ports of a core Service: a number may belong to a UDP port too, such as that of HTTP/3. */
export const portsOf = ({ spec }: Resource): readonly ServicePort[] =>
  (Array.isArray(spec?.ports) ? spec.ports : [])
    .map((entry): ServicePort => Object(entry))
    .filter(({ protocol }) => (protocol ?? "TCP") === "TCP");

const portNumbered = (service: Resource | undefined, port: number | undefined): ServicePort | undefined =>
  service && portsOf(service).find((entry) => entry.port === port);
