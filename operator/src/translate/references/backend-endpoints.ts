/** The endpoints of Services and Upstreams that refer to core Services. */
import { type BackendService, clusterAddressOf, endpointsOf, namespacedName } from "@sluice/crds";
import {
  ENDPOINT_WEIGHT_UNIT,
  type EndpointLists,
  type EndpointSection,
  type ServiceEndpoint,
  type UpstreamEndpoint,
} from "@sluice/model";
import type { ClusterState } from "../../watch/cluster-state.ts";
import type { EntityTranslation } from "../translate-resource.ts";
import type { EndpointSliceIndex } from "./endpoint-slice-index.ts";

interface EndpointSources {
  readonly coreServices: ClusterState["CoreService"];
  readonly slices: EndpointSliceIndex;
}

/** The endpoints of an entity with core Services, and their section of the document; undefined: it has none. */
export function backendEndpoints(
  { collection, backends }: Pick<EntityTranslation, "collection" | "backends">,
  sources: EndpointSources,
): { readonly section: EndpointSection; readonly list: EndpointLists[EndpointSection] } | undefined {
  if (!backends) return undefined;
  if (collection === "upstreams") return { section: "upstream_endpoints", list: upstreamEndpoints(backends, sources) };
  return { section: "endpoints", list: backends.flatMap((backend) => serviceEndpoints(backend, sources)) };
}

/** The endpoints and then the cluster address of the core Service, if it has one; empty when there are no endpoints. */
function serviceEndpoints(backend: BackendService, sources: EndpointSources): readonly ServiceEndpoint[] {
  const { service, isPortFound, endpoints } = endpointsBehind(backend, sources);
  const cluster = service && isPortFound && endpoints.length > 0 ? clusterAddressOf(service, backend.port) : null;
  return cluster ? [...endpoints, cluster] : endpoints;
}

/**
 * Divides the weight of each core Service among its endpoints, so that the number of its endpoints does not change its
 * part of the requests. Terminating endpoints are included only if the core Service has no others (KEP-1672). An
 * endpoint of several core Services has the sum of its weights. Hints of zones count only with a single core Service,
 * because a preference would change the parts of several.
 */
function upstreamEndpoints(backends: readonly BackendService[], sources: EndpointSources): readonly UpstreamEndpoint[] {
  const found = new Map<string, UpstreamEndpoint>();
  for (const { weight: whole = 0, ...backend } of backends) {
    const { endpoints } = endpointsBehind(backend, sources);
    const staying = endpoints.filter(({ terminating }) => terminating !== true);
    const serving = staying.length > 0 ? staying : endpoints;
    const share = whole === 0 ? 0 : Math.max(1, Math.round(whole / ENDPOINT_WEIGHT_UNIT / serving.length));
    for (const { address, port, zones } of serving) {
      const key = `${address} ${port}`;
      const weight = share + (found.get(key)?.weight ?? 0);
      found.set(key, { address, port, weight, ...(backends.length === 1 && zones && { zones }) });
    }
  }
  return [...found.values()];
}

function endpointsBehind({ namespace, name, port }: BackendService, { coreServices, slices }: EndpointSources) {
  const key = namespacedName(namespace, name);
  const service = coreServices.get(key);
  const ports: unknown = service?.spec?.ports;
  // Core Services in a directory are not validated.
  const found = (Array.isArray(ports) ? ports : []).find((candidate) => Object(candidate).port === port);
  return { service, isPortFound: found !== undefined, endpoints: endpointsOf(slices.of(key), found?.name) };
}
