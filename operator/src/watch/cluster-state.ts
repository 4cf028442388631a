/** Every resource that the operator reads, in its current version, by kind and `namespace/name`. */
import type { Kind, Resource } from "@sluice/crds";
import { BucketMap, hashOfText } from "@sluice/model";

export const watchedKinds = [
  "Certificate",
  "CACertificate",
  "Upstream",
  "Service",
  "Route",
  "Plugin",
  "ConsumerGroup",
  "Vault",
  "GraphQLDocuments",
  "Consumer",
  "Secret",
  "CoreService",
  "EndpointSlice",
  "ReferenceGrant",
  "Ingress",
  "IngressClass",
  "GatewayClass",
  "Gateway",
  "ListenerSet",
  "HTTPRoute",
  "GRPCRoute",
  "TLSRoute",
  "BackendTLSPolicy",
  "GatewayParameters",
  "Namespace",
] as const satisfies readonly Kind[];

export type WatchedKind = (typeof watchedKinds)[number];

export type ClusterState = Readonly<Record<WatchedKind, ReadonlyMap<string, Resource>>>;

/**
 * A copy that stays the same over several turns of the event loop. It is cheap: the copy shares the buckets of the
 * cache's maps (see `BucketMap`).
 */
export const copyClusterState = (clusterState: ClusterState): ClusterState =>
  Object.fromEntries(
    watchedKinds.map((kind) => [kind, BucketMap.of(clusterState[kind], hashOfText)]),
  ) as unknown as ClusterState;
