/** Reading and writing custom resources in a cluster or a directory. */
export * from "./batch.ts";
export { type ClassTracker, READS_ANNOTATION, trackClasses } from "./cache/class-tracker.ts";
export { versionOf } from "./cache/pending-writes.ts";
export * from "./cache/resource-cache.ts";
export { ApiServerError } from "./cluster/api/api-server-error.ts";
export type { CompletedRequest } from "./cluster/api/connection.ts";
export { KubeconfigError } from "./cluster/api/credentials.ts";
export { type ClusterClientOptions, createClusterClient } from "./cluster/client.ts";
export {
  type ClusterAuthorizer,
  createClusterAuthorizer,
  type ResourceAttributes,
  type UserInfo,
} from "./cluster/cluster-authorizer.ts";
export * from "./cluster/cluster-objects.ts";
export * from "./cluster/lease-rules.ts";
export { createLeaseStore } from "./cluster/lease-store.ts";
export { createObjectReader, type ObjectReader } from "./cluster/object-reader.ts";
export { type ForwardedPort, forwardService } from "./cluster/port-forward.ts";
export { createClusterRevisionStorage } from "./cluster/revision-storage.ts";
export { createClusterStateBackend } from "./cluster/state-backend.ts";
export { formatMetaTime } from "./conditions.ts";
export * from "./derive/derived-resource.ts";
export { portsOf } from "./derive/gateway/backends/backends.ts";
export {
  allListeners,
  type DerivedGateway,
  deriveGateway,
  parentOfListenerSet,
} from "./derive/gateway/derive-gateway.ts";
export {
  type ConditionFinding,
  type ListenerOwnerKind,
  type RouteKind,
  requestedAddresses,
  routeKinds,
  trueFinding,
} from "./derive/gateway/gateway-api.ts";
export { isOwnGateway, isOwnGatewayClass } from "./derive/gateway/gateway-class.ts";
export {
  type GatewayAddressStatus,
  type GatewayProgress,
  gatewayClassStatus,
  gatewayStatus,
  listenerSetStatus,
  routeStatus,
  supportedFeatures,
} from "./derive/gateway/gateway-status.ts";
export { type DerivedListenerSet, orphanedListenerSet } from "./derive/gateway/listeners/derive-listener-set.ts";
export {
  type GatewayListener,
  ownerOfListener,
  ownersOfListener,
} from "./derive/gateway/listeners/derive-listeners.ts";
export {
  backendTlsPolicyMembers,
  gatewayClassMembers,
  gatewayMembers,
  grpcRouteMembers,
  httpRouteMembers,
  listenerSetMembers,
  type MemberTable,
  referenceGrantMembers,
  tlsRouteMembers,
} from "./derive/gateway/member-table.ts";
export { checkParameters, type GatewayParameters } from "./derive/gateway/parameters/merge-parameters.ts";
export { classParametersFault, parametersOfClass } from "./derive/gateway/parameters/resolve-parameters.ts";
export {
  type BackendTlsTarget,
  type DerivedBackendTls,
  deriveBackendTls,
  invalidBackendTls,
} from "./derive/gateway/policies/backend-tls.ts";
export { type BackendTlsFacts, backendTlsStatus } from "./derive/gateway/policies/backend-tls-status.ts";
export { type AttachedListener, attachmentFactsOf, type ListenerOwner } from "./derive/gateway/routes/attachment.ts";
export { type DerivedRoute, deriveRoute, type RouteParent } from "./derive/gateway/routes/derive-route.ts";
export { ingressAliasesOf } from "./derive/ingress/annotations/aliases.ts";
export {
  clientCertificatesOf,
  requiresCertificates,
} from "./derive/ingress/annotations/protection/client-certificates.ts";
export { type AnnotationFacts, annotationTable } from "./derive/ingress/annotations/table.ts";
export { usesRegexPaths } from "./derive/ingress/annotations/transforms.ts";
export { isCanary } from "./derive/ingress/canary.ts";
export { deriveCertificate, tlsHostsOf, tlsSecretsOf } from "./derive/ingress/derive-certificate.ts";
export * from "./derive/ingress/derive-ingress.ts";
export { ownIngresses } from "./derive/ingress/ingress-class.ts";
export { ingressHostsOf, wwwCounterpart } from "./derive/ingress/ingress-spec.ts";
export { createDirectoryClient } from "./directory/client.ts";
export { createDirectoryRevisionStorage } from "./directory/revision-storage.ts";
export { printResource } from "./directory/rewrite-document.ts";
export { createDirectoryStateBackend } from "./directory/state-backend.ts";
export { locatePath } from "./directory/view/locate-path.ts";
export { type ManifestObject, parseObjects } from "./directory/view/parse-objects.ts";
export { type ParsedResource, parseResources } from "./directory/view/parse-resources.ts";
export * from "./endpoints.ts";
export * from "./keys.ts";
export { isSluiceKind, kindNames, kindOf } from "./kinds.ts";
export type { Log } from "./log.ts";
export { reflectsWrite } from "./reflects-write.ts";
export { rejectOnAbort } from "./reject-on-abort.ts";
export * from "./resource.ts";
export * from "./revisions.ts";
export { classOf, identityOf, sluiceKindOf } from "./translate/identity.ts";
export { type AgedObject, compareByAge, createAgeOrder } from "./translate/incremental/age-order.ts";
export { DependencyIndex, isFewChanges } from "./translate/incremental/dependency-index.ts";
export { MultiMap, Relation } from "./translate/incremental/relation.ts";
export * from "./translate/incremental/resource-lookups.ts";
export * from "./translate/incremental/tracked-translation.ts";
export { createTranslationCache, type TranslationCache } from "./translate/incremental/translation-cache.ts";
export { type ChildList, childLists } from "./translate/kind-tables.ts";
export { credentialSecret, isManaged, MANAGED_BY } from "./translate/secrets.ts";
export { CHILD_TIMES, timedVersionOf } from "./translate/timestamps.ts";
export { acmeSecretName, certificateSecret } from "./translate/tls-secrets.ts";
export { foreignTargetOf } from "./translate/to-entities/plugin.ts";
export { type Children, writeChild } from "./translate/to-resource/kind-members.ts";
export { kindOfCollection, type ResourceCollection, toResource } from "./translate/to-resource/to-resource.ts";
export { type ResourceLocation, writeEntryReference } from "./translate/to-resource/write-references.ts";
export * from "./translate/translate.ts";
export * from "./translate/translation.ts";
