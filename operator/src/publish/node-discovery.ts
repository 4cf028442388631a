/** Finds the nodes through the EndpointSlices of a headless Service, updated one slice at a time. */
import { endpointsOf, namespacedName, type Resource } from "@sluice/crds";
import { SettingsError } from "@sluice/model";
import { type OperatorSettings, operatorSettings } from "../settings.ts";
import { createEndpointSliceIndex } from "../translate/references/endpoint-slice-index.ts";

export interface NodeService {
  readonly namespace: string;
  readonly name: string;
}

/** Name of the Service's port for the push listener. */
const PUSH_PORT = "push";

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

const bracketed = (address: string): string => (address.includes(":") ? `[${address}]` : address);

export function createNodeDiscovery({ namespace, name }: NodeService) {
  const slices = createEndpointSliceIndex([]);
  const service = namespacedName(namespace, name);
  return {
    /**
     * Updates a slice (`namespace/name`); undefined: it was deleted. Returns whether it belongs or belonged to the
     * Service, so that callers can ignore other slices: with thousands of Services, those change all the time.
     */
    set: (key: string, slice: Resource | undefined) => slices.set(key, slice).includes(service),
    /**
     * Base URLs of the push listeners. They include addresses that are not ready (publishNotReadyAddresses): a node
     * becomes ready only once it has a document.
     */
    addresses: (scheme: "http" | "https") =>
      endpointsOf(slices.of(service), PUSH_PORT).map(
        (endpoint) => `${scheme}://${bracketed(endpoint.address)}:${endpoint.port}`,
      ),
  };
}
