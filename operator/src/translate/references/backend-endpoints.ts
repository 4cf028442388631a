/** The endpoints of a Service that refers to a core Service. */
import { type BackendService, clusterAddressOf, endpointsOf, namespacedName } from "@sluice/crds";
import type { ServiceEndpoint } from "@sluice/model";
import type { ClusterState } from "../../watch/cluster-state.ts";
import type { EndpointSliceIndex } from "./endpoint-slice-index.ts";

/** The endpoints and then the cluster address of the core Service, if it has one; empty when there are no endpoints. */
export function backendEndpoints(
  { namespace, name, port }: BackendService,
  coreServices: ClusterState["CoreService"],
  slices: EndpointSliceIndex,
): readonly ServiceEndpoint[] {
  const key = namespacedName(namespace, name);
  const service = coreServices.get(key);
  const ports: unknown = service?.spec?.ports;
  // Core Services in a directory are not validated.
  const found = (Array.isArray(ports) ? ports : []).find((candidate) => Object(candidate).port === port);
  const endpoints = endpointsOf(slices.of(key), found?.name);
  const cluster = service && found && endpoints.length > 0 ? clusterAddressOf(service, port) : null;
  return cluster ? [...endpoints, cluster] : endpoints;
}
