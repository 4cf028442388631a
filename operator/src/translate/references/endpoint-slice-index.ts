/** Index of EndpointSlices by core Service, updated one slice at a time. */
import { type Resource, resourceKey, SERVICE_LABEL } from "@sluice/crds";

const serviceOf = ({ metadata: { namespace, labels } }: Resource): string | undefined => {
  const service = labels?.[SERVICE_LABEL];
  return service ? `${namespace}/${service}` : undefined;
};

export function createEndpointSliceIndex(all: Iterable<Resource>) {
  const byService = new Map<string, Map<string, Resource>>();
  const services = new Map<string, string>();

  function leave(key: string): string | undefined {
    const service = services.get(key);
    if (service === undefined) return undefined;
    services.delete(key);
    const group = byService.get(service);
    group?.delete(key);
    if (group?.size === 0) byService.delete(service);
    return service;
  }

  function enter(key: string, slice: Resource): string | undefined {
    const service = serviceOf(slice);
    if (service === undefined) return undefined;
    services.set(key, service);
    const group = byService.get(service) ?? new Map<string, Resource>();
    byService.set(service, group.set(key, slice));
    return service;
  }

  for (const slice of all) enter(resourceKey(slice), slice);
  return {
    /** The slices of a core Service (`namespace/name`), unordered. */
    of: (service: string) => [...(byService.get(service)?.values() ?? [])],
    /**
     * Updates a slice (`namespace/name`); undefined: it was deleted. Returns the core Services that it belonged or
     * belongs to.
     */
    set(key: string, slice: Resource | undefined) {
      const affected = [leave(key), slice && enter(key, slice)];
      return affected.filter((service) => service !== undefined);
    },
  };
}

export type EndpointSliceIndex = ReturnType<typeof createEndpointSliceIndex>;
