/** The Gateways, HTTPRoutes and core Services that exist before measurements begin. */
import type { Resource, ResourceClient } from "@sluice/crds";
import { NAMESPACE, writeResourcesInParallel } from "../operator/population.ts";

export interface GatewaySize {
  readonly gateways: number;
  /** The HTTPRoutes of each Gateway. */
  readonly routes: number;
}

/** The maximum number of core Services, which the HTTPRoutes share. */
const MAX_SERVICES = 1000;
/** The first of the ports of the Gateways: each has its own. */
const FIRST_PORT = 10_000;

const object = (apiVersion: string, kind: string, name: string, members: object): Resource => ({
  apiVersion,
  kind,
  metadata: { name, namespace: NAMESPACE },
  ...members,
});

const ofGatewayApi = (kind: string, name: string, spec: object): Resource =>
  object("gateway.networking.k8s.io/v1", kind, name, { spec });

export const gatewayName = (at: number): string => `gateway-${at}`;
export const httpRouteName = (gateway: string, at: number): string => `${gateway}-route-${at}`;
export const gatewayPortOf = (gateway: number): number => FIRST_PORT + gateway;
/** Five routes of a Gateway share a host. */
export const populationHostOf = (route: number): string => `host-${Math.floor(route / 5)}.example`;

export const servicesOf = ({ gateways, routes }: GatewaySize): number => Math.min(gateways * routes, MAX_SERVICES);

export const gatewayAt = (name: string, port: number): Resource =>
  ofGatewayApi("Gateway", name, {
    gatewayClassName: "sluice",
    listeners: [{ name: "http", port, protocol: "HTTP" }],
  });

interface RouteSpec {
  readonly gateway: string;
  /** Its number among the routes of the Gateway. */
  readonly at: number;
  /** Default: the name of the route. */
  readonly path?: string;
  /** The number of core Services. */
  readonly services: number;
}

export function httpRoute({ gateway, at, path = `/${httpRouteName(gateway, at)}`, services }: RouteSpec): Resource {
  const [, number = "0"] = /(\d+)$/.exec(gateway) ?? [];
  return ofGatewayApi("HTTPRoute", httpRouteName(gateway, at), {
    parentRefs: [{ name: gateway }],
    hostnames: [populationHostOf(at)],
    rules: [
      {
        matches: [{ path: { type: "PathPrefix", value: path } }],
        backendRefs: [{ name: `service-${(Number(number) + at) % services}`, port: 80 }],
      },
    ],
  });
}

/** A core Service with one endpoint. The API server refuses loopback addresses there. */
function* serviceAt(at: number, { address, port }: Upstream): Generator<Resource> {
  const name = `service-${at}`;
  yield object("v1", "Service", name, { spec: { clusterIP: "None", ports: [{ name: "http", port: 80 }] } });
  const slice = object("discovery.k8s.io/v1", "EndpointSlice", name, {
    addressType: "IPv4",
    ports: [{ name: "http", protocol: "TCP", port }],
    endpoints: [{ addresses: [address], conditions: { ready: true } }],
  });
  yield { ...slice, metadata: { ...slice.metadata, labels: { "kubernetes.io/service-name": name } } };
}

/** Where requests for all core Services go. */
interface Upstream {
  readonly address: string;
  readonly port: number;
}

export async function populateGateways(client: ResourceClient, size: GatewaySize, upstream: Upstream): Promise<void> {
  const services = servicesOf(size);
  function* all(): Generator<Resource> {
    for (let at = 0; at < services; at++) yield* serviceAt(at, upstream);
    for (let gateway = 0; gateway < size.gateways; gateway++) {
      yield gatewayAt(gatewayName(gateway), gatewayPortOf(gateway));
      for (let at = 0; at < size.routes; at++) yield httpRoute({ gateway: gatewayName(gateway), at, services });
    }
  }
  await writeResourcesInParallel(client, all(), services * 2 + size.gateways * (1 + size.routes));
}
