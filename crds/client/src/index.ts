/** Reading and writing custom resources in a cluster or a directory. */
export * from "./batch.ts";
export { type ClassTracker, type ClassTrackerOptions, READS_ANNOTATION, trackClasses } from "./cache/class-tracker.ts";
export * from "./cache/resource-cache.ts";
export { ApiServerError } from "./cluster/api/api-server-error.ts";
export type { CompletedRequest } from "./cluster/api/connection.ts";
export { KubeconfigError } from "./cluster/api/credentials.ts";
export { type ClusterClientOptions, createClusterClient } from "./cluster/client.ts";
export {
  type ClusterAuthorizer,
  type ClusterAuthorizerOptions,
  createClusterAuthorizer,
  type ResourceAttributes,
  type UserInfo,
} from "./cluster/cluster-authorizer.ts";
export {
  type ClusterKind,
  type ClusterObject,
  type ClusterObjects,
  createClusterObjects,
} from "./cluster/cluster-objects.ts";
export {
  delayUntilClaimable,
  type LeaseObservation,
  type LeaseTiming,
  nextLeaseRecord,
  observeLease,
  releasedLeaseRecord,
} from "./cluster/lease-rules.ts";
export { createLeaseStore, type LeaseStoreOptions } from "./cluster/lease-store.ts";
export { type ClusterStateBackendOptions, createClusterStateBackend } from "./cluster/state-backend.ts";
export { mergeConditions } from "./conditions.ts";
export { createDirectoryClient, type DirectoryClientOptions } from "./directory/client.ts";
export { printResource } from "./directory/rewrite-document.ts";
export { createDirectoryStateBackend } from "./directory/state-backend.ts";
export { locatePath } from "./directory/view/locate-path.ts";
export { type ParsedResource, parseResources } from "./directory/view/parse-resources.ts";
export * from "./endpoints.ts";
export * from "./keys.ts";
export { isSluiceKind, type KindNames, kindNames, kindOf } from "./kinds.ts";
export type { Log } from "./log.ts";
export { reflectsWrite } from "./reflects-write.ts";
export { rejectOnAbort } from "./reject-on-abort.ts";
export * from "./resource.ts";
export * from "./translate/index.ts";
