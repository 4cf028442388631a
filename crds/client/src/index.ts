/** Custom resources: reading and writing them, wherever they are kept. */
export * from "./batch.ts";
export * from "./cache.ts";
export { type Classes, type ClassesOptions, followClasses, READS } from "./classes.ts";
export {
  type Caller,
  type ClusterAccess,
  type ClusterAccessOptions,
  createClusterAccess,
  type Right,
} from "./cluster/access.ts";
export { type ClusterClientOptions, createClusterClient } from "./cluster/client.ts";
export type { Answered } from "./cluster/connection.ts";
export { KubeconfigError } from "./cluster/credentials.ts";
export { Fault } from "./cluster/fault.ts";
export { createLeaseStore, type LeaseStoreOptions } from "./cluster/leases.ts";
export {
  type ClusterKind,
  type ClusterObject,
  type ClusterObjects,
  createClusterObjects,
} from "./cluster/objects.ts";
export { type ClusterStoreOptions, createClusterStore } from "./cluster/own-store.ts";
export { mergeConditions } from "./conditions.ts";
export { createDirectoryClient, type DirectoryClientOptions } from "./directory/client.ts";
export { locateIn } from "./directory/locate.ts";
export { createDirectoryStore } from "./directory/own-store.ts";
export { type Placed as PlacedResource, parseResources } from "./directory/parse.ts";
export { printResource } from "./directory/rewrite.ts";
export * from "./endpoints.ts";
export { isOurs, type KindNames, kindNames, kindOf } from "./kinds.ts";
export type { Log } from "./log.ts";
export type { NamespaceSelector } from "./namespaces.ts";
export { orAborted } from "./or-aborted.ts";
export * from "./resource.ts";
export { isSeen } from "./seen.ts";
export * from "./translate/index.ts";
