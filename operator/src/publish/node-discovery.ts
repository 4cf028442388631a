/** Finds the nodes of each fleet through the EndpointSlices of a headless Service, updated one slice at a time. */
import { endpointsOf, namespacedName, type Resource, terminatingEndpointsOf } from "@sluice/crds";
import { type ServiceEndpoint, SettingsError, SHARED_FLEET } from "@sluice/model";
import { type OperatorSettings, operatorSettings } from "../settings.ts";
import { createEndpointSliceIndex } from "../translate/references/endpoint-slice-index.ts";

export interface NodeService {
  readonly namespace: string;
  readonly name: string;
}

type Scheme = "http" | "https";

/** Name of the Service's port for the push listener. */
const PUSH_PORT = "push";

/** Characters of the hash at the end of a fleet's name. */
const FLEET_HASH_LENGTH = 10;

/**
 * The Service that the settings name; null: the nodes are a fixed list.
 *
 * @throws SettingsError
 */
export function nodeServiceOf({
  nodeService,
  namespaces,
}: Pick<OperatorSettings, "nodeService" | "namespaces">): NodeService | null {
  if (nodeService === null) return null;
  const { variable } = operatorSettings.nodeService;
  const [namespace, name, ...rest] = nodeService.split("/");
  if (!namespace || !name || rest.length > 0)
    throw new SettingsError(`${variable}: expected namespace/name, not '${nodeService}'`);
  if (namespaces.length > 0 && !namespaces.includes(namespace))
    throw new SettingsError(
      `${variable}: ${operatorSettings.namespaces.variable} must name ${namespace}, the namespace of the Service`,
    );
  return { namespace, name };
}

const baseUrl = (scheme: Scheme, { address, port }: ServiceEndpoint): string =>
  `${scheme}://${bracketed(address)}:${port}`;
const bracketed = (address: string): string => (address.includes(":") ? `[${address}]` : address);

/**
 * The name of the headless Service of a fleet's nodes, in the namespace of the nodes. The name of a fleet ends with a
 * hash, and may be too long for a suffix.
 */
export const pushServiceName = (fleet: string): string => `gateway-${fleet.slice(-FLEET_HASH_LENGTH)}-push`;

export function createNodeDiscovery({ namespace, name }: NodeService) {
  const slices = createEndpointSliceIndex([]);
  /** The fleets by their headless Service (`namespace/name`). */
  const fleets = new Map([[namespacedName(namespace, name), SHARED_FLEET]]);
  const serviceOf = (fleet: string) =>
    namespacedName(namespace, fleet === SHARED_FLEET ? name : pushServiceName(fleet));
  return {
    /** Sets the names of all fleets, in addition to the shared fleet. Returns the names that are new. */
    setFleets(names: Iterable<string>): readonly string[] {
      const wanted = new Map([SHARED_FLEET, ...names].map((fleet) => [serviceOf(fleet), fleet]));
      for (const service of fleets.keys()) if (!wanted.has(service)) fleets.delete(service);
      const added = [...wanted].filter(([service]) => !fleets.has(service));
      for (const [service, fleet] of added) fleets.set(service, fleet);
      return added.map(([, fleet]) => fleet);
    },
    /**
     * Updates a slice (`namespace/name`); undefined: it was deleted. Returns the fleets whose nodes may have changed,
     * so that callers can ignore other slices: with thousands of Services, those change all the time.
     */
    set: (key: string, slice: Resource | undefined): readonly string[] =>
      slices.set(key, slice).flatMap((service) => fleets.get(service) ?? []),
    /**
     * Base URLs of the push listeners of a fleet's nodes. They include addresses that are not ready
     * (publishNotReadyAddresses): a node becomes ready only once it has a document.
     */
    addresses: (scheme: Scheme, fleet = SHARED_FLEET) =>
      endpointsOf(slices.of(serviceOf(fleet)), PUSH_PORT).map((endpoint) => baseUrl(scheme, endpoint)),
    /** Base URLs of the nodes of a fleet whose Pods terminate, also of those that accept no connections any more. */
    terminating: (scheme: Scheme, fleet = SHARED_FLEET): ReadonlySet<string> =>
      new Set(
        terminatingEndpointsOf(slices.of(serviceOf(fleet)), PUSH_PORT).map((endpoint) => baseUrl(scheme, endpoint)),
      ),
  };
}
