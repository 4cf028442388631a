/** Which nodes there are: a fixed list, or the endpoints of a headless Service, kept up to date one slice by one. */
import { endpointsOf, type Resource, SERVICE_LABEL } from "@sluice/crds";

export interface NodeService {
  readonly namespace: string;
  readonly name: string;
  /** Name of the Service's port of the push listener. */
  readonly port: string;
}

export interface NodeDiscovery {
  /**
   * The slice (`namespace/name`) is another one now, or gone. Returns whether it is or was the Service's: in a cluster
   * with thousands of Services there are always some whose slices change.
   */
  set(key: string, slice: Resource | undefined): boolean;
  /**
   * Base addresses of the push listeners. The Service publishes addresses that are not ready too
   * (publishNotReadyAddresses): a node becomes ready only once it has a document.
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
