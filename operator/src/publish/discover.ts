/** Which nodes there are: a fixed list, or the endpoints of a headless Service. Pure. */
import { endpointsOf, keyOf, type Resource, slicesByService } from "@sluice/crds";

export interface NodeService {
  readonly namespace: string;
  readonly name: string;
  /** Name of the Service's port of the push listener. */
  readonly port: string;
}

const bracketed = (address: string): string => (address.includes(":") ? `[${address}]` : address);

/**
 * Base addresses of the push listeners. The Service publishes addresses that are not ready too
 * (publishNotReadyAddresses): a node becomes ready only once it has a document.
 */
export function nodesBehind(
  { namespace, name, port }: NodeService,
  slices: Iterable<Resource>,
  scheme: "http" | "https",
): readonly string[] {
  const mine = slicesByService(slices).get(keyOf(namespace, name)) ?? [];
  return endpointsOf(mine, port).map((endpoint) => `${scheme}://${bracketed(endpoint.address)}:${endpoint.port}`);
}
