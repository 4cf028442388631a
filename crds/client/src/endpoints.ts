/** Reads the endpoints of a core Service from its EndpointSlices (discovery.k8s.io/v1). Pure. */
import { isIP } from "node:net";
import type { ServiceEndpoint } from "@sluice/model";
import type { Resource } from "./resource.ts";

export const SERVICE_LABEL = "kubernetes.io/service-name";

interface SliceEndpoint {
  readonly addresses?: readonly string[];
  readonly conditions?: {
    readonly ready?: boolean;
    readonly serving?: boolean;
    readonly terminating?: boolean;
  } | null;
  readonly hints?: { readonly forZones?: readonly { readonly name?: string }[] } | null;
}

interface SlicePort {
  readonly name?: string;
  readonly port?: number;
}

/** Slices in a directory have not been validated by an API server. */
const list = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

const records = <Record>(value: unknown): readonly Record[] => list(value).map((item) => Object(item) as Record);

/** A slice may also contain host names (addressType FQDN). No controller creates such slices any more. */
const isAddress = (address: unknown): address is string => typeof address === "string" && isIP(address) !== 0;

/**
 * A core Service's cluster IP, from which kube-proxy forwards to the current endpoints; null if the Service has none
 * (headless, ExternalName or not assigned yet).
 */
export function clusterAddressOf({ spec }: Resource, port: number): ServiceEndpoint | null {
  const address = spec?.clusterIP;
  return isAddress(address) ? { address, port, fallback: true } : null;
}

const isPort = (port: unknown): port is number => Number.isInteger(port) && Number(port) >= 1 && Number(port) <= 65_535;

interface FoundEndpoint extends ServiceEndpoint {
  readonly serves: boolean;
}

/** As many hints as an API server accepts. */
const MAX_ZONES = 8;

const zonesOf = (hints: SliceEndpoint["hints"]): readonly string[] =>
  records<{ readonly name?: unknown }>(hints?.forZones)
    .flatMap(({ name }) => (typeof name === "string" && name !== "" ? name : []))
    .slice(0, MAX_ZONES);

/**
 * All valid endpoints with the port of this name, or the slice's only port. Missing conditions count as the API
 * defines: unknown `ready` and `serving` mean true.
 */
function* foundEndpoints(slices: readonly Resource[], portName: string | undefined): Generator<FoundEndpoint> {
  for (const slice of slices) {
    const ports = records<SlicePort>(slice.ports);
    const port = ports.length === 1 ? ports[0] : ports.find(({ name }) => (name ?? "") === (portName ?? ""));
    if (!isPort(port?.port)) continue;
    for (const { addresses = [], conditions = {}, hints } of records<SliceEndpoint>(slice.endpoints)) {
      const terminating = conditions?.terminating === true;
      const serves = terminating ? (conditions.serving ?? true) : (conditions?.ready ?? true);
      const zones = zonesOf(hints);
      const facts = { ...(terminating && { terminating }), ...(zones.length > 0 && { zones }) };
      for (const address of list(addresses).filter(isAddress)) yield { address, port: port.port, serves, ...facts };
    }
  }
}

const keyOf = ({ address, port }: ServiceEndpoint): string => `${address} ${port}`;

/** The endpoint with the hints of both slices. */
function withZonesOf(endpoint: ServiceEndpoint, { zones: others = [] }: ServiceEndpoint): ServiceEndpoint {
  const zones = [...new Set([...others, ...(endpoint.zones ?? [])])].sort().slice(0, MAX_ZONES);
  return zones.length === 0 ? endpoint : { ...endpoint, zones };
}

/**
 * The endpoints that are ready, and those that terminate but still serve, with the port of this name or the slice's
 * only port. The result is sorted, so that the order in slices does not matter. An endpoint in two slices (while it
 * moves between them) counts once. Invalid addresses and ports are skipped.
 */
export function endpointsOf(slices: readonly Resource[], portName: string | undefined): readonly ServiceEndpoint[] {
  const found = new Map<string, ServiceEndpoint>();
  for (const { serves, ...endpoint } of foundEndpoints(slices, portName)) {
    const key = keyOf(endpoint);
    const known = found.get(key);
    if (!serves || (known && endpoint.terminating)) continue;
    found.set(key, known && !known.terminating ? withZonesOf(endpoint, known) : endpoint);
  }
  return [...found.keys()].sort().map((key) => found.get(key) as ServiceEndpoint);
}

/** The endpoints that terminate, whether or not they still serve, with the port of this name. */
export function terminatingEndpointsOf(slices: readonly Resource[], portName: string): readonly ServiceEndpoint[] {
  const found = [...foundEndpoints(slices, portName)];
  // The address of a deleted pod may already be that of another one.
  const live = new Set(found.filter(({ terminating }) => !terminating).map(keyOf));
  return found.filter((endpoint) => endpoint.terminating && !live.has(keyOf(endpoint)));
}
