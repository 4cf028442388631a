/** Prefers the endpoints that EndpointSlices suggest for the node's zone (KEP-2433), as kube-proxy does. */
import type { EndpointZones } from "@sluice/model";

/**
 * The endpoints with a hint for the zone. All endpoints, if the zone is not known (null), if no endpoint has a hint for
 * it, or if an endpoint has no hints: then the hints are incomplete.
 */
export function endpointsForZone<Endpoint extends { readonly zones?: EndpointZones }>(
  endpoints: readonly Endpoint[],
  zone: string | null,
): readonly Endpoint[] {
  if (zone === null || endpoints.some(({ zones }) => zones === undefined)) return endpoints;
  const near = endpoints.filter(({ zones }) => zones?.includes(zone));
  return near.length > 0 ? near : endpoints;
}
