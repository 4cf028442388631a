/** Finds the nodes through the EndpointSlices of a headless Service, updated one slice at a time. */
import { endpointsOf, type Resource, SERVICE_LABEL } from "@sluice/crds";

export interface NodeService {
  readonly namespace: string;
  readonly name: string;
  /** Name of the Service's port for the push listener. */
  readonly port: string;
}

export interface NodeDiscovery {
  /**
   * Updates a slice (`namespace/name`); undefined: it was deleted. Returns whether it belongs or belonged to the
   * Service. In a cluster with thousands of Services, other slices change all the time.
   */
  set(key: string, slice: Resource | undefined): boolean;
  /**
   * Base addresses of the push listeners. They include addresses that are not ready (publishNotReadyAddresses): a node
   * becomes ready only once it has a document.
   */
  addresses(scheme: "http" | "https"): readonly string[];
}

const bracketed = (address: string): string => (address.includes(":") ? `[${address}]` : address);

export function createNodeDiscovery({ namespace, name, port }: NodeService): NodeDiscovery {
  const ours = new Map<string, Resource>();
  const isOurs = ({ metadata }: Resource) =>
    metadata.namespace === namespace && metadata.labels?.[SERVICE_LABEL] === name;
  return {
    set(key, slice) {
      const was = ours.delete(key);
      if (!slice || !isOurs(slice)) return was;
      ours.set(key, slice);
      return true;
    },
    addresses: (scheme) =>
      endpointsOf([...ours.values()], port).map(
        (endpoint) => `${scheme}://${bracketed(endpoint.address)}:${endpoint.port}`,
      ),
  };
}
