/** Translation between custom resources and entities, both ways. Pure. */

export { classOf, type Identity, identityOf, qualifiedName, sluiceKindOf } from "./identity.ts";
export { byAge, createAgeOrder } from "./incremental/age-order.ts";
export { DependencyIndex, isFewChanges } from "./incremental/dependency-index.ts";
export {
  createResourceLookups,
  type GrantLookups,
  type LookupsOptions,
  type ResourceLookups,
  type ResourcesByKind,
} from "./incremental/resource-lookups.ts";
export {
  grantsFromKey,
  grantsIntoKey,
  type TrackedTranslation,
  type TranslationLookups,
  translateTracked,
} from "./incremental/tracked-translation.ts";
export { createTranslationCache, type TranslationCache } from "./incremental/translation-cache.ts";
export { credentialSecret, hashKey, isManaged, MANAGED_BY } from "./secrets.ts";
export { CHILD_TIMES, CREATED_AT, timedVersionOf, UPDATED_AT } from "./timestamps.ts";
export { certificateSecret } from "./tls-secrets.ts";
export { toEntities } from "./to-entities/to-entities.ts";
export { resourceName } from "./to-resource/resource-name.ts";
export {
  kindOfCollection,
  type ResourceCollection,
  type ToResourceOptions,
  toResource,
} from "./to-resource/to-resource.ts";
export type { ResourceLocation } from "./to-resource/write-references.ts";
export { type CheckedTranslation, translate } from "./translate.ts";
export type {
  BackendService,
  CrossNamespaceReference,
  Path,
  Reason,
  ReferencedResource,
  ResourceViolation,
  TranslatedEntity,
  TranslateOptions,
} from "./translation.ts";
export { describeResourceViolation, formatPath, resourcePath, resourceViolations } from "./violation-paths.ts";
