/** Index of Routes by the Service that they refer to, updated one Route at a time. */
import {
  namespacedName,
  protocolsOfRoute,
  type Resource,
  resourceKey,
  routeProtocolsKey,
  type ServiceRouteLookups,
  serviceProtocolsKey,
} from "@sluice/crds";

export interface ServiceRouteIndex extends Required<ServiceRouteLookups> {
  /**
   * Updates a Route (`namespace/name`); undefined: it was deleted. Returns the keys of all lookups whose results may
   * change.
   */
  set(key: string, route: Resource | undefined): readonly string[];
}

/** The Service of a Route, as `namespace/name`. */
function serviceOf({ metadata: { namespace }, spec }: Resource): string | undefined {
  const ref = Object(spec?.serviceRef) as { readonly name?: unknown; readonly namespace?: unknown };
  return typeof ref.name === "string" ? namespacedName(`${ref.namespace ?? namespace}`, ref.name) : undefined;
}

/** @param isOwn Whether a Route has the class of this installation. */
export function createServiceRouteIndex(
  all: Iterable<Resource>,
  isOwn: (route: Resource) => boolean,
): ServiceRouteIndex {
  /** The protocols of each Route, by Service and Route. */
  const byService = new Map<string, Map<string, string>>();
  const services = new Map<string, string>();

  function leave(key: string): string | undefined {
    const service = services.get(key);
    if (service === undefined) return undefined;
    services.delete(key);
    const routes = byService.get(service);
    routes?.delete(key);
    if (routes?.size === 0) byService.delete(service);
    return service;
  }

  function enter(key: string, route: Resource): string | undefined {
    const service = serviceOf(route);
    const protocols = protocolsOfRoute(route);
    if (service === undefined || protocols === undefined || !isOwn(route)) return undefined;
    services.set(key, service);
    byService.getOrInsertComputed(service, () => new Map()).set(key, protocols);
    return service;
  }

  for (const route of all) enter(resourceKey(route), route);
  return {
    serviceProtocols(namespace, name) {
      const routes = byService.get(namespacedName(namespace, name));
      return routes && [...new Set(routes.values())].sort().join(";");
    },
    set(key, route) {
      const affected = [leave(key), route && enter(key, route)].filter((service) => service !== undefined);
      return [routeProtocolsKey(key), ...affected.map(serviceProtocolsKey)];
    },
  };
}
