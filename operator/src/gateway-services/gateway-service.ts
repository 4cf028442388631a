/** The core Service through which clients reach a Gateway. Pure. */
import { isIP } from "node:net";
import { isDeepStrictEqual } from "node:util";
import {
  allListeners,
  type DerivedGateway,
  type GatewayParameters,
  type Resource,
  requestedAddresses,
} from "@sluice/crds";
import type { DocumentListener } from "@sluice/model";
import type { OperatorSettings } from "../settings.ts";
import { gatewayObjectMetadata, gatewayObjectName } from "./object-names.ts";

export interface GatewayServiceOptions {
  readonly settings: Pick<OperatorSettings, "class" | "gatewayServiceType" | "gatewayTrafficPolicy">;
  /** The headless Service of the release's nodes: the new Service is deleted with it. */
  readonly nodes: Resource;
  /** Selects the pods that serve the Gateway. Default: the nodes of the release. */
  readonly selector?: Readonly<Record<string, string>>;
}

interface ServicePort {
  readonly name: string;
  readonly port: number;
  readonly protocol: "TCP";
  readonly targetPort: number;
}

/** The Service of a Gateway; undefined: none of its listeners can be served, or no valid parameters are known. */
export function gatewayService(
  derived: DerivedGateway,
  { settings, nodes, selector }: GatewayServiceOptions,
): Resource | undefined {
  const ports = portsOf(derived);
  const { parameters } = derived;
  if (!parameters || ports.length === 0) return undefined;
  const { gateway } = derived;
  const { class: className } = settings;
  return {
    apiVersion: "v1",
    kind: "Service",
    metadata: gatewayObjectMetadata(gateway, { name: gatewayObjectName(gateway, className), className, nodes }),
    spec: {
      ...typeOf(gateway, settings, parameters.service),
      selector: selector ?? nodes.spec?.selector,
      ports,
    },
  };
}

/** The members that depend on the type. Kubernetes refuses them for other types. */
function typeOf(
  gateway: Resource,
  settings: GatewayServiceOptions["settings"],
  parameters: GatewayParameters["service"],
): object {
  const {
    type = settings.gatewayServiceType,
    externalTrafficPolicy = settings.gatewayTrafficPolicy,
    loadBalancerClass,
  } = parameters;
  return {
    type,
    ...(type !== "ClusterIP" && { externalTrafficPolicy }),
    ...(type === "LoadBalancer" && {
      ...loadBalancerIp(gateway),
      ...(loadBalancerClass !== undefined && { loadBalancerClass }),
    }),
  };
}

/** The first part of the names of ports, which may have at most 15 characters, and none but letters, digits and `-`. */
const portNames: Readonly<Record<DocumentListener["protocol"], string>> = {
  http: "http",
  https: "https",
  tls: "tls",
  tls_passthrough: "tls",
};

/** Kubernetes has no member for several addresses. */
function loadBalancerIp(gateway: Resource): { readonly loadBalancerIP?: string } {
  const [address, ...others] = requestedAddresses(gateway);
  return address !== undefined && others.length === 0 && isIP(address) !== 0 ? { loadBalancerIP: address } : {};
}

/** Listeners that differ by their hosts share a port. */
function portsOf(derived: DerivedGateway): readonly ServicePort[] {
  const ports = new Map<number, ServicePort>();
  for (const { served } of allListeners(derived)) {
    if (!served) continue;
    const { public_port: port, port: targetPort, protocol } = served;
    ports.set(port, { name: `${portNames[protocol]}-${port}`, port, protocol: "TCP", targetPort });
  }
  return [...ports.values()];
}

/** The ports of the nodes in a Service, by the port of the Gateway. */
export function nodePortsIn({ spec = {} }: Resource): ReadonlyMap<number, number> {
  const ports = (spec.ports ?? []) as readonly { readonly port: number; readonly targetPort?: unknown }[];
  return new Map(
    ports.flatMap(({ port, targetPort }) => (typeof targetPort === "number" ? [[port, targetPort] as const] : [])),
  );
}

/** Whether an object has everything that the given one has; its API server adds further members. */
export const isUpToDate = (present: Resource, wanted: Resource): boolean =>
  hasWantedMembers(present.metadata, wanted.metadata) && hasWantedMembers(present.spec, wanted.spec);

export function hasWantedMembers(present: unknown, wanted: unknown): boolean {
  if (Array.isArray(wanted))
    return (
      Array.isArray(present) &&
      present.length === wanted.length &&
      wanted.every((one, index) => hasWantedMembers(present[index], one))
    );
  if (typeof wanted !== "object" || wanted === null) return isDeepStrictEqual(present, wanted);
  if (typeof present !== "object" || present === null) return false;
  const members = present as Readonly<Record<string, unknown>>;
  return Object.entries(wanted).every(([name, value]) => value === undefined || hasWantedMembers(members[name], value));
}
