/** The backends of a rule: core Services, each with its part of the requests. */
import type { UpstreamTls } from "@sluice/model";
import type { Resource } from "../../resource.ts";
import type { TranslateOptions } from "../../translate/translation.ts";
import type { DerivedBackend } from "../derived-services.ts";
import { type BackendReference, type Finding, fails, type RouteKind, withArticle } from "./gateway-api.ts";
import type { DerivedBackendTls } from "./policies/backend-tls.ts";

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

/** A backend with a part of the requests. */
export interface UsableBackend extends DerivedBackend {
  readonly weight: number;
  /** Undefined: connections are not secured by TLS. */
  readonly tls: UpstreamTls | undefined;
}

export interface RuleBackends {
  /** The backends that can be used and receive a part of the requests. */
  readonly usable: readonly UsableBackend[];
  /** The percentage of the requests that is for other backends, and is therefore answered with 500: from 0 to 100. */
  readonly refusedPercentage: number;
  /** The condition ResolvedRefs, if a reference cannot be resolved. */
  readonly faults: readonly Finding[];
}

/** The maximum weight of a backend of an Upstream. */
const MAX_WEIGHT = 65_535;

export function backendsOf(
  refs: readonly BackendReference[],
  place: { readonly kind: RouteKind; readonly namespace: string; readonly path: string },
  lookups: BackendLookups,
): RuleBackends {
  const usable = new Map<string, UsableBackend>();
  const faults: Finding[] = [];
  let refusedWeight = 0;
  for (const [index, ref] of refs.entries()) {
    const { weight = 1, namespace = place.namespace, name, port } = ref;
    const fault = backendFault(ref, { ...place, path: `${place.path}[${index}]` }, lookups);
    if (fault) faults.push(fault);
    if (weight === 0) continue;
    const policy = fault ? undefined : lookups.backendTlsOf({ namespace, name }, portNameOf(ref, namespace, lookups));
    // An upstream that cannot be verified gets no requests.
    if (fault || port === undefined || (policy && !policy.tls)) refusedWeight += weight;
    else {
      const key = `${namespace}/${name}:${port}`;
      const known = usable.get(key)?.weight ?? 0;
      usable.set(key, { namespace, name, port, weight: known + weight, tls: policy?.tls });
    }
  }
  const served = [...usable.values()];
  const total = served.reduce((sum, { weight }) => sum + weight, refusedWeight);
  return { usable: scaled(served), refusedPercentage: total === 0 ? 0 : (refusedWeight / total) * 100, faults };
}

function backendFault(
  { group = "", kind = "Service", namespace: given, name, port }: BackendReference,
  { kind: from, namespace: own, path }: { readonly kind: RouteKind; readonly namespace: string; readonly path: string },
  { read, isReferenceAllowed }: Pick<TranslateOptions, "read" | "isReferenceAllowed">,
): Finding | undefined {
  if (group !== "" || kind !== "Service")
    return fails("InvalidKind", `${path}: the kind ${kind} of ${group || "v1"} is not supported: use a core Service`);
  const namespace = given ?? own;
  const to = { kind: "CoreService", namespace, name } as const;
  if (namespace !== own && !isReferenceAllowed({ from: { kind: from, namespace: own }, to }))
    return fails(
      "RefNotPermitted",
      `${path}: the namespace ${namespace} does not allow ${withArticle(from)} of the namespace ${own} to refer to its core ` +
        `Service ${name}: create a ReferenceGrant there`,
    );
  const service = read("CoreService", namespace, name);
  if (!service)
    return fails("BackendNotFound", `${path}: there is no core Service ${name} in the namespace ${namespace}`);
  if (portsOf(service).some((entry) => entry.port === port)) return undefined;
  return fails("BackendNotFound", `${path}: the core Service ${name} has no port ${port}`);
}

interface ServicePort {
  readonly name?: string;
  readonly port?: number;
}

/** The ports of a core Service. */
export const portsOf = ({ spec }: Resource): readonly ServicePort[] =>
  Array.isArray(spec?.ports) ? spec.ports.map((entry) => Object(entry)) : [];

function portNameOf({ name, port }: BackendReference, namespace: string, { read }: BackendLookups): string | undefined {
  const service = read("CoreService", namespace, name);
  return service && portsOf(service).find((entry) => entry.port === port)?.name;
}

/** Weights of at most `MAX_WEIGHT`, in about the same proportions. */
function scaled(backends: RuleBackends["usable"]): RuleBackends["usable"] {
  const highest = Math.max(...backends.map(({ weight }) => weight));
  if (highest <= MAX_WEIGHT) return backends;
  return backends.map((one) => ({ ...one, weight: Math.max(1, Math.round((one.weight / highest) * MAX_WEIGHT)) }));
}
