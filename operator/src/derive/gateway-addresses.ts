/** The addresses of the gateway as the statuses of Ingresses show them. */
import { isIP } from "node:net";
import type { Resource } from "@sluice/crds";
import type { OperatorSettings } from "../settings.ts";

/** An entry of `status.loadBalancer.ingress`. */
export interface GatewayAddress {
  readonly ip?: string;
  readonly hostname?: string;
}

/** The configured addresses, or those of the gateway's core Service. Null: none is configured, or it does not exist. */
export function gatewayAddresses(
  { publishService, publishAddresses }: Pick<OperatorSettings, "publishService" | "publishAddresses">,
  coreServices: ReadonlyMap<string, Resource>,
): readonly GatewayAddress[] | null {
  if (publishAddresses.length > 0) return publishAddresses.map(addressOf);
  const service = publishService === null ? undefined : coreServices.get(publishService);
  return service ? serviceAddresses(service) : null;
}

/** The addresses of a core Service: its load balancers and external IPs or, without them, its cluster IP. */
export function serviceAddresses({ spec = {}, status = {} }: Resource): readonly GatewayAddress[] {
  const { type, externalName, clusterIP } = spec as Readonly<Record<string, string | undefined>>;
  if (type === "ExternalName") return externalName === undefined ? [] : [{ hostname: externalName }];
  const externalIps = (spec.externalIPs ?? []) as readonly string[];
  const { ingress = [] } = (status.loadBalancer ?? {}) as { readonly ingress?: readonly GatewayAddress[] };
  const balancers = ingress.map(({ ip, hostname }) => ({
    ...(ip !== undefined && { ip }),
    ...(hostname !== undefined && { hostname }),
  }));
  const outside = [...balancers, ...externalIps.map(addressOf)];
  // A load balancer that has no address yet must not be reported with an address inside the cluster.
  if (outside.length > 0 || type === "LoadBalancer") return outside;
  return clusterIP === undefined || clusterIP === "None" ? [] : [{ ip: clusterIP }];
}

const addressOf = (text: string): GatewayAddress => (isIP(text) === 0 ? { hostname: text } : { ip: text });
