/** The API names of each kind. */
import { kindFacts, apiVersion as ours } from "@sluice/model";
import type { Kind, SluiceKind } from "./resource.ts";

export interface KindNames {
  readonly apiVersion: string;
  readonly kind: string;
  /** The name in the paths of the API. */
  readonly plural: string;
}

export const kindNames: Readonly<Record<Kind, KindNames>> = {
  Certificate: { apiVersion: ours, kind: "Certificate", plural: "certificates" },
  CACertificate: { apiVersion: ours, kind: "CACertificate", plural: "cacertificates" },
  Upstream: { apiVersion: ours, kind: "Upstream", plural: "upstreams" },
  Service: { apiVersion: ours, kind: "Service", plural: "services" },
  Route: { apiVersion: ours, kind: "Route", plural: "routes" },
  Plugin: { apiVersion: ours, kind: "Plugin", plural: "plugins" },
  ConsumerGroup: { apiVersion: ours, kind: "ConsumerGroup", plural: "consumergroups" },
  Consumer: { apiVersion: ours, kind: "Consumer", plural: "consumers" },
  Vault: { apiVersion: ours, kind: "Vault", plural: "vaults" },
  GraphQLDocuments: { apiVersion: ours, kind: "GraphQLDocuments", plural: "graphqldocuments" },
  GatewayParameters: { apiVersion: ours, kind: "GatewayParameters", plural: "gatewayparameters" },
  ConfigMap: { apiVersion: "v1", kind: "ConfigMap", plural: "configmaps" },
  Secret: { apiVersion: "v1", kind: "Secret", plural: "secrets" },
  CoreService: { apiVersion: "v1", kind: "Service", plural: "services" },
  Lease: { apiVersion: "coordination.k8s.io/v1", kind: "Lease", plural: "leases" },
  Namespace: { apiVersion: "v1", kind: "Namespace", plural: "namespaces" },
  ReferenceGrant: {
    apiVersion: "gateway.networking.k8s.io/v1beta1",
    kind: "ReferenceGrant",
    plural: "referencegrants",
  },
  GatewayClass: { apiVersion: "gateway.networking.k8s.io/v1", kind: "GatewayClass", plural: "gatewayclasses" },
  Gateway: { apiVersion: "gateway.networking.k8s.io/v1", kind: "Gateway", plural: "gateways" },
  ListenerSet: { apiVersion: "gateway.networking.k8s.io/v1", kind: "ListenerSet", plural: "listenersets" },
  HTTPRoute: { apiVersion: "gateway.networking.k8s.io/v1", kind: "HTTPRoute", plural: "httproutes" },
  GRPCRoute: { apiVersion: "gateway.networking.k8s.io/v1", kind: "GRPCRoute", plural: "grpcroutes" },
  BackendTLSPolicy: {
    apiVersion: "gateway.networking.k8s.io/v1",
    kind: "BackendTLSPolicy",
    plural: "backendtlspolicies",
  },
  TLSRoute: { apiVersion: "gateway.networking.k8s.io/v1", kind: "TLSRoute", plural: "tlsroutes" },
  Ingress: { apiVersion: "networking.k8s.io/v1", kind: "Ingress", plural: "ingresses" },
  IngressClass: { apiVersion: "networking.k8s.io/v1", kind: "IngressClass", plural: "ingressclasses" },
  EndpointSlice: { apiVersion: "discovery.k8s.io/v1", kind: "EndpointSlice", plural: "endpointslices" },
  Deployment: { apiVersion: "apps/v1", kind: "Deployment", plural: "deployments" },
  ServiceAccount: { apiVersion: "v1", kind: "ServiceAccount", plural: "serviceaccounts" },
  PodDisruptionBudget: { apiVersion: "policy/v1", kind: "PodDisruptionBudget", plural: "poddisruptionbudgets" },
  HorizontalPodAutoscaler: {
    apiVersion: "autoscaling/v2",
    kind: "HorizontalPodAutoscaler",
    plural: "horizontalpodautoscalers",
  },
};

/** Whether resources of this kind represent entities. */
export const isSluiceKind = (kind: Kind): kind is SluiceKind => Object.hasOwn(kindFacts, kind);

/** The kinds of the nodes that the operator creates. A directory has none of them. */
const nodeKinds: ReadonlySet<Kind> = new Set([
  "Deployment",
  "ServiceAccount",
  "PodDisruptionBudget",
  "HorizontalPodAutoscaler",
]);

/** The kinds that a directory may contain. */
export const directoryKinds: readonly Kind[] = (Object.keys(kindNames) as Kind[]).filter(
  (kind) => !nodeKinds.has(kind),
);

const byNames = new Map(directoryKinds.map((kind) => [`${kindNames[kind].apiVersion} ${kindNames[kind].kind}`, kind]));

/** The kind of an object in a directory by its apiVersion and kind; undefined for kinds that are not read. */
export function kindOf(apiVersion: string, kind: string): Kind | undefined {
  return byNames.get(`${apiVersion} ${kind}`);
}
