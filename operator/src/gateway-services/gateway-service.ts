/** The core Service through which clients reach a Gateway. Pure. */
import { createHash } from "node:crypto";
import { isIP } from "node:net";
import { isDeepStrictEqual } from "node:util";
import { allListeners, type DerivedGateway, type Resource, requestedAddresses, resourceKey } from "@sluice/crds";
import { type DocumentListener, SHARED_FLEET } from "@sluice/model";
import type { OperatorSettings } from "../settings.ts";

/** The label of the Gateway API for resources that were made for a Gateway (GEP-1762). */
const GATEWAY_NAME = "gateway.networking.k8s.io/gateway-name";
/** Label with the class of the installation. */
const CLASS = "sluice.dev/gateway-class";
/** Label of the nodes of a Gateway's own, with the name of their fleet. */
const FLEET = "sluice.dev/fleet";
/** Annotation with the Gateway as `namespace/name`. */
const GATEWAY = "sluice.dev/gateway";

export interface GatewayServiceOptions {
  readonly settings: Pick<OperatorSettings, "class" | "gatewayServiceType" | "gatewayTrafficPolicy">;
  /** The headless Service of the nodes: the new Service selects the same pods, and is deleted with it. */
  readonly nodes: Resource;
}

interface ServicePort {
  readonly name: string;
  readonly port: number;
  readonly protocol: "TCP";
  readonly targetPort: number;
}

/** The Service of a Gateway; undefined: none of its listeners can be served. */
export function gatewayService(
  derived: DerivedGateway,
  { settings, nodes }: GatewayServiceOptions,
): Resource | undefined {
  const ports = portsOf(derived);
  if (ports.length === 0) return undefined;
  const { gateway } = derived;
  const { name } = gateway.metadata;
  const { labels = {}, annotations = {} } = (gateway.spec?.infrastructure ?? {}) as {
    readonly labels?: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
  };
  const { gatewayServiceType: type, gatewayTrafficPolicy: externalTrafficPolicy } = settings;
  return {
    apiVersion: "v1",
    kind: "Service",
    metadata: {
      namespace: nodes.metadata.namespace,
      name: serviceName(gateway, settings.class),
      labels: {
        ...labels,
        // A longer value is no valid label.
        ...(name.length <= 63 && { [GATEWAY_NAME]: name }),
        "app.kubernetes.io/managed-by": "sluice-operator",
        [CLASS]: settings.class,
      },
      annotations: { ...annotations, [GATEWAY]: resourceKey(gateway) },
      ownerReferences: [{ apiVersion: "v1", kind: "Service", name: nodes.metadata.name, uid: nodes.metadata.uid }],
    },
    spec: {
      type,
      ...(type !== "ClusterIP" && { externalTrafficPolicy }),
      ...(type === "LoadBalancer" && loadBalancerIp(gateway)),
      selector: nodes.spec?.selector,
      ports,
    },
  } as Resource;
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

/**
 * The name of a Gateway's Service, and of the fleet that its own nodes form. Unique, and a valid name of a Service: a
 * Gateway's name may be longer, and may contain dots.
 */
export function serviceName(gateway: Resource, className: string): string {
  const hash = createHash("sha256")
    .update(`${className}/${resourceKey(gateway)}`)
    .digest("hex")
    .slice(0, 10);
  const readable = gateway.metadata.name.replaceAll(".", "-").slice(0, 44).replace(/-+$/, "");
  return `gateway-${readable}-${hash}`;
}

/** The Gateway (`namespace/name`) for which a Service was made; undefined: it is another Service. */
export function gatewayOf({ metadata }: Resource, className: string): string | undefined {
  return metadata.labels?.[CLASS] === className ? metadata.annotations?.[GATEWAY] : undefined;
}

/** The fleet whose nodes a Service selects. */
export function fleetIn({ spec }: Resource): string {
  const { [FLEET]: fleet = SHARED_FLEET } = (spec?.selector ?? {}) as Readonly<Record<string, string>>;
  return fleet;
}

/** The ports of the nodes in a Service, by the port of the Gateway. */
export function nodePortsIn({ spec = {} }: Resource): ReadonlyMap<number, number> {
  const ports = (spec.ports ?? []) as readonly { readonly port: number; readonly targetPort?: unknown }[];
  return new Map(
    ports.flatMap(({ port, targetPort }) => (typeof targetPort === "number" ? [[port, targetPort] as const] : [])),
  );
}

/** Whether a Service has everything that the given one has; its API server adds further members. */
export const isUpToDate = (present: Resource, wanted: Resource): boolean =>
  contains(present.metadata, wanted.metadata) && contains(present.spec, wanted.spec);

function contains(present: unknown, wanted: unknown): boolean {
  if (Array.isArray(wanted))
    return (
      Array.isArray(present) &&
      present.length === wanted.length &&
      wanted.every((one, index) => contains(present[index], one))
    );
  if (typeof wanted !== "object" || wanted === null) return isDeepStrictEqual(present, wanted);
  if (typeof present !== "object" || present === null) return false;
  const members = present as Readonly<Record<string, unknown>>;
  return Object.entries(wanted).every(([name, value]) => contains(members[name], value));
}
