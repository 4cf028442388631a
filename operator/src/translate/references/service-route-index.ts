/** Index of Routes by the Service that they refer to, updated one Route at a time. */
import {
  namespacedName,
  protocolsOfRoute,
  type Resource,
  routeProtocolsKey,
  type ServiceRouteLookups,
  serviceProtocolsKey,
} from "@sluice/crds";
import { ResourceGroups } from "./resource-groups.ts";

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
  const groups = new ResourceGroups(all, (route) => {
    const [group, value] = [serviceOf(route), protocolsOfRoute(route)];
    return group === undefined || value === undefined || !isOwn(route) ? undefined : { group, value };
  });
  return {
    serviceProtocols(namespace, name) {
      const protocols = groups.of(namespacedName(namespace, name));
      return protocols && [...new Set(protocols)].sort().join(";");
    },
    set: (key, route) => [routeProtocolsKey(key), ...groups.set(key, route).map(serviceProtocolsKey)],
  };
}
