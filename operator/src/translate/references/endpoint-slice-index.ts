/** Index of EndpointSlices by core Service, updated one slice at a time. */
import { type Resource, SERVICE_LABEL } from "@sluice/crds";
import { ResourceGroups } from "./resource-groups.ts";

export interface EndpointSliceIndex {
  /** The slices of a core Service (`namespace/name`), unordered. */
  of(service: string): readonly Resource[];
  /**
   * Updates a slice (`namespace/name`); undefined: it was deleted. Returns the core Services that it belonged or belongs
   * to.
   */
  set(key: string, slice: Resource | undefined): readonly string[];
}

export function createEndpointSliceIndex(all: Iterable<Resource>): EndpointSliceIndex {
  const groups = new ResourceGroups(all, (slice) => {
    const { namespace, labels } = slice.metadata;
    const service = labels?.[SERVICE_LABEL];
    return service ? { group: `${namespace}/${service}`, value: slice } : undefined;
  });
  return {
    of: (service) => [...(groups.of(service) ?? [])],
    set: (key, slice) => groups.set(key, slice),
  };
}
