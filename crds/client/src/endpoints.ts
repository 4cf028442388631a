/** Reads EndpointSlices (discovery.k8s.io/v1): which addresses stand behind a core Service. Pure. */
import { isIP } from "node:net";
import type { Endpoint } from "@sluice/model";
import type { Resource } from "./resource.ts";

export const SERVICE_LABEL = "kubernetes.io/service-name";

interface SliceEndpoint {
  readonly addresses?: readonly string[];
  readonly conditions?: {
    readonly ready?: boolean;
    readonly serving?: boolean;
    readonly terminating?: boolean;
  } | null;
}

interface SlicePort {
  readonly name?: string;
  readonly port?: number;
}

/** Nobody checks the slices in a folder of files. */
const list = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

const records = <Record>(value: unknown): readonly Record[] => list(value).map((item) => Object(item) as Record);

/** A slice may also name hosts (addressType FQDN), which nothing makes any more. */
const isAddress = (address: unknown): address is string => typeof address === "string" && isIP(address) !== 0;

/**
 * The address at which a core Service itself is reached, which kube-proxy keeps leading to what serves now; null: it has
 * none (a headless one, or an ExternalName).
 */
export function clusterAddressOf({ spec }: Resource, port: number): Endpoint | null {
  const address = spec?.clusterIP;
  return isAddress(address) ? { address, port, fallback: true } : null;
}

const isPort = (port: unknown): port is number => Number.isInteger(port) && Number(port) >= 1 && Number(port) <= 65_535;

/**
 * Addresses that serve, for the port with this name (the slice's only port when there is just one). A missing
 * condition counts as the API says: `ready` and `serving` unknown mean yes. Sorted, so that order in slices does not
 * matter; an endpoint that stands in two slices (while it moves between them) counts once. What is no IP address or
 * no port is passed over.
 */
export function endpointsOf(slices: readonly Resource[], portName: string | undefined): readonly Endpoint[] {
  const found = new Map<string, Endpoint>();
  for (const slice of slices) {
    const ports = records<SlicePort>(slice.ports);
    const port = ports.length === 1 ? ports[0] : ports.find(({ name }) => (name ?? "") === (portName ?? ""));
    if (!isPort(port?.port)) continue;
    for (const { addresses = [], conditions = {} } of records<SliceEndpoint>(slice.endpoints)) {
      const terminating = conditions?.terminating === true;
      const serves = terminating ? (conditions.serving ?? true) : (conditions?.ready ?? true);
      if (!serves) continue;
      for (const address of list(addresses).filter(isAddress)) {
        const key = `${address} ${port.port}`;
        if (found.has(key) && terminating) continue;
        found.set(key, { address, port: port.port, ...(terminating ? { terminating } : {}) });
      }
    }
  }
  return [...found.keys()].sort().map((key) => found.get(key) as Endpoint);
}
